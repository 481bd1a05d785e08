package core

import (
	"errors"
	"fmt"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/schema"
)

// elementTypes returns the element types among schema types.
func elementTypes(types []string) []array.DType {
	var out []array.DType
	for _, t := range types {
		if name := schema.ElementOf(t); name != "" {
			if dt, err := array.ParseDType(name); err == nil {
				out = append(out, dt)
			}
		}
	}
	return out
}

// inputTypes returns the element types that input i may have.
func inputTypes(s *schema.Schema, i int) []array.DType {
	p := s.Input(i)
	if p == nil {
		return nil
	}
	return elementTypes(s.Allowed(p))
}

// tiedType returns the element type of another input that shares the type
// parameter of input i, or the only type that i may have; Undefined when neither
// is known.
func tiedType(s *schema.Schema, i int, typeAt func(k int) array.DType) array.DType {
	p := s.Input(i)
	if p == nil {
		return array.Undefined
	}
	if allowed := elementTypes(s.Allowed(p)); len(allowed) == 1 {
		return allowed[0]
	}
	for k := range max(len(s.Inputs), i+1) + 8 {
		if q := s.Input(k); k != i && q != nil && q.Type == p.Type && (q.Option != schema.Variadic || q.Homogeneous) {
			if dt := typeAt(k); dt != array.Undefined {
				return dt
			}
		}
	}
	return array.Undefined
}

func isVariadic(p schema.Param) bool { return p.Option == schema.Variadic }

// checkCall holds the node against its operator's schema.
func (b *nodeBuilder) checkCall() error {
	if b.schema == nil || !b.check {
		return nil
	}
	c := schema.Call{Inputs: make([]string, 0, b.n.NumInputs()), Outputs: make([]string, len(b.outputs))}
	for i := range b.n.NumInputs() {
		c.Inputs = append(c.Inputs, schemaType(b.n.Input(i)))
	}
	for _, a := range b.n.Attrs() {
		c.Attrs = append(c.Attrs, schema.GivenAttr{Name: a.Name, Kind: schema.Kind(a.Kind)})
	}
	errs := b.schema.Check(c)
	if len(errs) == 0 {
		return nil
	}
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s, opset %d: %w", b.op, b.opset(), err)
	}
	return errors.Join(errs...)
}

// schemaType returns the type of an input as a schema writes it: "" where it is
// not known, or is no dense tensor's.
func schemaType(t *ir.Tensor) string {
	switch {
	case t == nil:
		return schema.Omitted
	case t.Type() == nil || t.Type().Kind != ir.TensorKind || t.DType() == array.Undefined:
		return ""
	}
	return schema.TypeString(t.DType().String())
}
