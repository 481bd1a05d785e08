package ops

import (
	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// castTo returns the type that Cast's attribute names: a number, in opsets
// before 6 a name.
func (s *Site) castTo() (array.DType, error) {
	if name := s.Str("to"); name != "" {
		dt, err := array.ParseDType(name)
		if err != nil {
			return 0, s.Errorf("attribute \"to\": %w", err)
		}
		return dt, nil
	}
	dt := array.DType(s.Int("to"))
	if n := s.Int("to"); n < 1 || n > 255 || !dt.Valid() {
		return 0, s.Errorf("attribute \"to\": got %d, want the number of a type", n)
	}
	return dt, nil
}

func cast(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	dt, err := c.castTo()
	if err != nil {
		return err
	}
	if err := c.CheckSize(dt, a.Shape()); err != nil {
		return err
	}
	return c.castAs(a, dt)
}

// castAs makes the cast of a the output, as the attributes say.
func (c *Call) castAs(a *array.Array, dt array.DType) error {
	mode := array.RoundUp
	if name := c.Str("round_mode"); name != "" {
		var err error
		if mode, err = array.ParseRoundMode(name); err != nil {
			return c.Errorf("attribute \"round_mode\": %w", err)
		}
	}
	out, err := a.CastWith(dt, c.IntOr("saturate", 1) != 0, mode)
	if err != nil {
		return c.Errorf("%w", err)
	}
	c.Out[0] = out
	return nil
}

func inferCast(c *Infer) error {
	dt, err := c.castTo()
	if err != nil {
		return err
	}
	out := TensorFact(dt, c.Fact(0).Dims)
	if es := c.ElemsAt(0); es != nil && (dt == array.Int64 || dt == array.Int32) {
		out.Elems = es
	} else if es != nil && dt == array.Bool {
		out.Elems = make([]sym.Expr, len(es))
		for i, e := range es {
			if n, ok := e.Int(); ok {
				out.Elems[i] = sym.Int(min(abs64(n), 1))
			}
		}
	}
	c.Set(0, out)
	return nil
}

func castLike(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	like, err := c.Need(1)
	if err != nil {
		return err
	}
	return c.castAs(a, like.DType())
}

func inferCastLike(c *Infer) error {
	c.Set(0, TensorFact(c.Fact(1).DType, c.Fact(0).Dims))
	return nil
}

var castOps = []Op{
	{Name: "Cast", Since: 1, Infer: inferCast, Eval: cast},
	{Name: "CastLike", Since: 15, Infer: inferCastLike, Eval: castLike},
}
