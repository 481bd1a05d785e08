package ops

import (
	"cmp"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

var (
	addKernel = elementwise(addArith)
	mulKernel = elementwise(mulArith)
)

// contribDomain is the domain of ONNX Runtime's own operators. Its optimizer and
// the exporters write them for what the standard says with several nodes, so
// their kernels (contrib_*.go) are made of the standard's wherever that is so.
const contribDomain = "com.microsoft"

// partOpset is the opset whose standard operators the kernels are made of.
const partOpset = 24

// part evaluates a standard operator's kernel on the given inputs, with these
// attributes alone, and returns its first output.
func (c *Call) part(kernel func(*Call) error, attrs []*ir.Attr, in ...*array.Array) (*array.Array, error) {
	outs, err := c.parted(kernel, 1, attrs, in...)
	if err != nil {
		return nil, err
	}
	return outs[0].(*array.Array), nil
}

// parted is part with the first n outputs.
func (c *Call) parted(kernel func(*Call) error, n int, attrs []*ir.Attr, in ...*array.Array) ([]array.Value, error) {
	p := &Call{Site: c.partSite(attrs), Out: make([]array.Value, n), Run: c.Run, Budget: c.Budget, Alloc: c.Alloc, Seed: c.Seed, isPart: true}
	for _, a := range in {
		if a == nil { // not an interface that holds a nil
			p.In = append(p.In, nil)
		} else {
			p.In = append(p.In, a)
		}
	}
	err := kernel(p)
	return p.Out, err
}

// partSite is the site with other attributes, in the opset of the parts.
func (s *Site) partSite(attrs []*ir.Attr) Site {
	if attrs == nil {
		attrs = []*ir.Attr{} // none, not the node's own
	}
	return Site{Node: s.Node, Opset: partOpset, Attrs: attrs, outer: cmp.Or(s.outer, s.Opset)}
}

// part infers a standard operator on the given facts, with these attributes
// alone, and returns what is known of its first output.
func (c *Infer) part(infer func(*Infer) error, attrs []*ir.Attr, in ...Fact) (Fact, error) {
	outs, err := c.parted(infer, 1, attrs, in...)
	return outs[0], err
}

// parted is part with the first n outputs.
func (c *Infer) parted(infer func(*Infer) error, n int, attrs []*ir.Attr, in ...Fact) ([]Fact, error) {
	p := &Infer{Site: c.partSite(attrs), In: in, Out: make([]Fact, n), Run: c.Run, Visit: c.Visit, Fresh: c.Fresh, isPart: true}
	err := infer(p)
	return p.Out, err
}

// attrsOf returns the node's attributes of these names, for a part.
func (s *Site) attrsOf(names ...string) []*ir.Attr {
	out := []*ir.Attr{}
	for _, name := range names {
		if a := s.Attr(name); a != nil {
			out = append(out, a)
		} else if v, ok := attrOr[any](s, name); ok {
			out = append(out, ir.NewAttr(name, v))
		}
	}
	return out
}

// needs returns the first n inputs, which must be given and arrays.
func (c *Call) needs(n int) ([]*array.Array, error) {
	out := make([]*array.Array, n)
	for i := range out {
		a, err := c.Need(i)
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	return out, nil
}

// total adds arrays that broadcast together; one that is nil adds nothing.
func (c *Call) total(as ...*array.Array) (*array.Array, error) {
	var total *array.Array
	for _, a := range as {
		switch {
		case a == nil:
		case total == nil:
			total = a
		default:
			var err error
			if total, err = c.part(addKernel, nil, total, a); err != nil {
				return nil, err
			}
		}
	}
	return total, nil
}
