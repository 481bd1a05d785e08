package ops

import (
	"cmp"
	"fmt"
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
)

// Site is where an operator stands: the node, and the operator's schema in the
// opset in force. Call and Infer read attributes through it.
type Site struct {
	Node   *ir.Node
	Schema *schema.Schema // nil for an operator that no schema describes
	Opset  int
	// Attrs overrides the node's attributes, where a function's body refers to
	// the attributes of the calling node; nil means the node's own.
	Attrs []*ir.Attr

	outer int // of a part of another operator: that one's opset
}

// Attr returns the node's attribute, with references resolved, or nil.
func (s *Site) Attr(name string) *ir.Attr {
	if s.Attrs == nil {
		return s.Node.Attr(name)
	}
	for _, a := range s.Attrs {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// attrOr returns the attribute's value, else the schema's default, else zero.
func attrOr[T any](s *Site, name string) (v T, set bool) {
	if a := s.Attr(name); a != nil {
		v, set = a.Value.(T)
		return v, set
	}
	if s.Schema != nil {
		if a := s.Schema.Attr(name); a != nil && a.Default != nil {
			v, set = a.Default.(T)
		}
	}
	return v, set
}

// Int returns an int attribute, the schema's default, or 0.
func (s *Site) Int(name string) int { v, _ := attrOr[int64](s, name); return int(v) }

// IntOr returns an int attribute, the schema's default, or def.
func (s *Site) IntOr(name string, def int) int {
	if v, ok := attrOr[int64](s, name); ok {
		return int(v)
	}
	return def
}

// Ints returns an ints attribute or the schema's default; nil when there is neither.
func (s *Site) Ints(name string) []int {
	v, ok := attrOr[[]int64](s, name)
	if !ok {
		return nil
	}
	out := make([]int, len(v))
	for i, n := range v {
		out[i] = int(n)
	}
	return out
}

// Float returns a float attribute, the schema's default, or 0.
func (s *Site) Float(name string) float32 { v, _ := attrOr[float32](s, name); return v }

// FloatOr returns a float attribute, the schema's default, or def.
func (s *Site) FloatOr(name string, def float32) float32 {
	if v, ok := attrOr[float32](s, name); ok {
		return v
	}
	return def
}

// Floats returns a floats attribute or the schema's default, or nil.
func (s *Site) Floats(name string) []float32 { v, _ := attrOr[[]float32](s, name); return v }

// String returns a string attribute, the schema's default, or "".
func (s *Site) Str(name string) string { v, _ := attrOr[string](s, name); return v }

// Strs returns a strings attribute or the schema's default, or nil.
func (s *Site) Strs(name string) []string { v, _ := attrOr[[]string](s, name); return v }

// Tensor returns a tensor attribute's values, or nil.
func (s *Site) Tensor(name string) *array.Array {
	if l, ok := attrOr[*ir.Literal](s, name); ok && l != nil {
		return l.Array
	}
	return nil
}

// Graph returns a graph attribute, or nil.
func (s *Site) Graph(name string) *ir.Graph { g, _ := attrOr[*ir.Graph](s, name); return g }

// isRequired reports whether the schema wants input i to be given.
func (s *Site) isRequired(i int) bool {
	if s.Schema == nil {
		return false
	}
	p := s.Schema.Input(i)
	return p != nil && p.Option == schema.Single
}

// Has reports whether the node itself sets the attribute.
func (s *Site) HasAttr(name string) bool { return s.Attr(name) != nil }

// Errorf returns an error that begins with the node, its operator and opset.
func (s *Site) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s, opset %d: %w", s.Node.Path(), cmp.Or(s.outer, s.Opset), fmt.Errorf(format, args...))
}

// Call is one evaluation of an operator.
type Call struct {
	Site
	In  []array.Value // nil for an omitted input
	Out []array.Value // one for each output of the node; a kernel fills the wanted ones
	// Run evaluates a body of the node on the given inputs.
	Run func(body *ir.Graph, inputs []array.Value) ([]array.Value, error)
	// Budget bounds what the kernel may allocate; nil means no bound but the
	// address space.
	Budget *Budget
	// Alloc, when set, returns zeroed memory of n bytes, aligned for every type,
	// or nil to leave it to Go.
	Alloc func(n int) []byte
	// Seed is what random operators without a seed attribute draw from.
	Seed uint64

	isPart bool // of another operator: every output is wanted
}

// Budget bounds the bytes that one evaluation may allocate in one array.
type Budget struct{ MaxBytes int64 }

// Wants reports whether output i is wanted.
func (c *Call) Wants(i int) bool {
	return i < len(c.Out) && (i == 0 || c.isPart || c.Node.Output(i) != nil)
}

// Has reports whether input i is given.
func (c *Call) Has(i int) bool { return i < len(c.In) && c.In[i] != nil }

// Array returns input i as an array, or nil when it is omitted or of another kind.
func (c *Call) Array(i int) *array.Array {
	if i >= len(c.In) {
		return nil
	}
	a, _ := c.In[i].(*array.Array)
	return a
}

// Need returns input i, which must be given and an array.
func (c *Call) Need(i int) (*array.Array, error) {
	if a := c.Array(i); a != nil {
		return a, nil
	}
	if c.Has(i) {
		return nil, c.Errorf("input %d: got %s, want a tensor", i, c.In[i].Summary())
	}
	return nil, c.Errorf("input %d: got none, want a tensor", i)
}

// IntsAt returns the elements of input i, an integer tensor, as ints.
func (c *Call) IntsAt(i int) ([]int, error) {
	a, err := c.Need(i)
	if err != nil {
		return nil, err
	}
	vs, err := a.Int64s()
	if err != nil {
		return nil, c.Errorf("input %d: %w", i, err)
	}
	out := make([]int, len(vs))
	for k, v := range vs {
		out[k] = int(v)
	}
	return out, nil
}

// Make returns a zeroed array for an output, or an error when a dimension is
// negative, the size overflows, or the budget does not allow it.
func (c *Call) Make(dt array.DType, shape []int) (*array.Array, error) {
	if err := c.CheckSize(dt, shape); err != nil {
		return nil, err
	}
	a, err := c.allocated(dt, shape)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	return a, nil
}

func (c *Call) allocated(dt array.DType, shape []int) (*array.Array, error) {
	if c.Alloc != nil && dt != array.String {
		if mem := c.Alloc((sizeOf(shape)*dt.Bits() + 7) / 8); mem != nil {
			return array.FromBytes(dt, shape, mem)
		}
	}
	return array.Make(dt, shape)
}

// CheckSize fails when an array of that type and shape can't be, or is over
// the budget; nothing is allocated.
func (c *Call) CheckSize(dt array.DType, shape []int) error {
	bits := int64(max(dt.Bits(), 1))
	if dt == array.String {
		bits = 128
	}
	n := bits
	for _, d := range shape {
		if d < 0 {
			return c.Errorf("output shape %v: got a negative size", shape)
		}
		if d != 0 && n > math.MaxInt64/int64(d) {
			return c.Errorf("output shape %v of %s: the size overflows 64 bits", shape, dt)
		}
		n *= int64(d)
	}
	if c.Budget != nil && n/8 > c.Budget.MaxBytes {
		return c.Errorf("output %s%v: got %d bytes, want at most %d (the memory budget)", dt, shape, n/8, c.Budget.MaxBytes)
	}
	return nil
}
