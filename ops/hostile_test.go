package ops_test

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops"
	"github.com/starlarkgs/starlarkgs/ops/schema"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// hostile makes calls that no checker has looked at: wrong ranks, types, sizes,
// counts of inputs and attributes.
type hostile struct{ *rand.Rand }

func (h hostile) array() *array.Array {
	dts := array.DTypes()
	if h.IntN(3) > 0 {
		dts = []array.DType{array.Float32, array.Int64}
	}
	shape := make([]int, h.IntN(5))
	for i := range shape {
		shape[i] = h.IntN(4)
	}
	a := array.New(dts[h.IntN(len(dts))], shape...)
	if a.DType() != array.String {
		for i := range a.Size() {
			_ = a.SetAt(i, int64(h.IntN(7)-2)) // what the type can't hold stays 0
		}
	}
	return a
}

func (h hostile) attr(s *schema.Attr) *ir.Attr {
	ints := make([]int64, h.IntN(6))
	floats, texts := make([]float32, len(ints)), make([]string, len(ints))
	for i := range ints {
		ints[i], floats[i], texts[i] = int64(h.IntN(7)-2), float32(h.IntN(7)-2), "abc"[:h.IntN(4)]
	}
	switch s.Kind {
	case schema.KindInt:
		return ir.NewAttr(s.Name, int64(h.IntN(9)-2))
	case schema.KindFloat:
		return ir.NewAttr(s.Name, float32(h.IntN(5)-2))
	case schema.KindInts:
		return ir.NewAttr(s.Name, ints)
	case schema.KindFloats:
		return ir.NewAttr(s.Name, floats)
	case schema.KindStrings:
		return ir.NewAttr(s.Name, texts)
	case schema.KindString:
		return ir.NewAttr(s.Name, "zzz")
	case schema.KindTensor:
		return ir.NewAttr(s.Name, &ir.Literal{Array: h.array()})
	}
	return nil
}

// call makes a node with its inputs, and what an evaluation and an inference
// of it are given.
func (h hostile) call(op *ops.Op, s *schema.Schema) (*ops.Call, string) {
	text := op.Name
	c := &ops.Call{Budget: &ops.Budget{MaxBytes: 1 << 20}}
	var ins []*ir.Tensor
	for i := range h.IntN(7) {
		a := h.array()
		if h.IntN(8) == 0 {
			ins, c.In = append(ins, nil), append(c.In, nil)
			text += " -"
			continue
		}
		ins, c.In = append(ins, ir.NewConstant(fmt.Sprint("i", i), a)), append(c.In, array.Value(a))
		text += " " + a.String() + a.Summary()
	}
	outs := make([]*ir.Tensor, 1+h.IntN(4))
	for i := range outs {
		outs[i] = ir.NewTensor(fmt.Sprint("o", i), nil)
	}
	n := ir.NewNode(op.Name, ins, outs)
	n.SetDomain(op.Domain)
	for i := range s.Attrs {
		if h.IntN(2) == 0 {
			continue
		}
		if a := h.attr(&s.Attrs[i]); a != nil {
			n.SetAttr(a)
			text += fmt.Sprintf(" %s=%v", a.Name, a.Value)
		}
	}
	c.Site, c.Out = ops.Site{Node: n, Opset: op.Since, Schema: s}, make([]array.Value, len(outs))
	return c, text
}

// TestHostileCalls calls every kernel on nonsense: an error or a result, never a
// panic.
func TestHostileCalls(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for _, op := range ops.All() {
		s, ok := schema.Lookup(op.Domain, op.Name, op.Since)
		if !ok || op.Eval == nil {
			continue
		}
		bad := 0
		for seed := 0; seed < rounds && bad < 2; seed++ {
			c, text := hostile{rand.New(rand.NewPCG(uint64(seed), 1))}.call(op, s)
			if r := panics(func() { _ = op.Eval(c) }); r != "" {
				bad++
				t.Errorf("seed %d: %s\n%s", seed, text, r)
			}
		}
	}
}

// fact says of an array all that inference may know, or only a part of it.
func (h hostile) fact(v array.Value) ops.Fact {
	a, ok := v.(*array.Array)
	if !ok || h.IntN(6) == 0 {
		return ops.Fact{}
	}
	f := ops.TensorFact(a.DType(), nil)
	if h.IntN(4) == 0 {
		return f
	}
	f.Dims = []sym.Expr{}
	known := true
	for i, d := range a.Shape() {
		switch h.IntN(8) {
		case 0:
			f.Dims, known = append(f.Dims, sym.Expr{}), false
		case 1:
			f.Dims, known = append(f.Dims, sym.Symbol(fmt.Sprint("N", i))), false
		default:
			f.Dims = append(f.Dims, sym.Int(int64(d)))
		}
	}
	if known && h.IntN(2) == 0 {
		f.Const = a
		if vs, err := a.Int64s(); err == nil && a.DType().IsInt() {
			f.Elems = []sym.Expr{}
			for _, v := range vs {
				f.Elems = append(f.Elems, sym.Int(v))
			}
		}
	}
	return f
}

// infer makes the inference of a call's outputs.
func (h hostile) infer(call *ops.Call) *ops.Infer {
	c := &ops.Infer{Site: call.Site, Out: make([]ops.Fact, len(call.Out)), Fresh: func() sym.Expr { return sym.Symbol("fresh") }}
	for _, v := range call.In {
		c.In = append(c.In, h.fact(v))
	}
	return c
}

// TestHostileInference infers the outputs of nonsense: an error or facts, never
// a panic.
func TestHostileInference(t *testing.T) {
	for _, op := range ops.All() {
		s, ok := schema.Lookup(op.Domain, op.Name, op.Since)
		if !ok || op.Infer == nil {
			continue
		}
		bad := 0
		for seed := 0; seed < 400 && bad < 2; seed++ {
			h := hostile{rand.New(rand.NewPCG(uint64(seed), 2))}
			call, text := h.call(op, s)
			if r := panics(func() { _ = op.Infer(h.infer(call)) }); r != "" {
				bad++
				t.Errorf("seed %d: %s\n%s", seed, text, r)
			}
		}
	}
}

func panics(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	f()
	return ""
}
