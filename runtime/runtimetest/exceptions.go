package runtimetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/runtime"
)

// Exception is a wider tolerance for what an operator takes part in.
type Exception struct {
	Op string
	// Atol is the absolute tolerance; 0 leaves it as it is.
	Atol float64
	// Random says that an output is compared by type, shape and distribution.
	Random bool
	Reason string
	// holds, when set, tells which nodes of the operator are meant, given which
	// inputs of the model.
	holds  func(*ir.Node) bool
	inputs func(map[string]array.Value) bool
}

// Exceptions is the table of them, by operator, never by case.
var Exceptions = []Exception{
	{Op: "DFT", Atol: 1e-6, Reason: "the data of the inverse transforms hold 2e-7 of noise where the exact answer is 0"},
	{Op: "ImageDecoder", Atol: 2, Reason: "decoders of JPEG and WebP may round their transforms differently", inputs: isLossy},
	{Op: "Bernoulli", Random: true, Reason: "the standard leaves the generator open"},
	{Op: "Multinomial", Random: true, Reason: "the standard leaves the generator open"},
	{Op: "RandomUniform", Random: true, Reason: "the standard leaves the generator open"},
	{Op: "RandomUniformLike", Random: true, Reason: "the standard leaves the generator open"},
	{Op: "RandomNormal", Random: true, Reason: "the standard leaves the generator open"},
	{Op: "RandomNormalLike", Random: true, Reason: "the standard leaves the generator open"},
	{Op: "Dropout", Random: true, Reason: "in training mode the standard leaves the generator open", holds: func(n *ir.Node) bool { return n.Input(2) != nil }},
}

// isLossy reports whether an input is a JPEG or a WebP; other formats are exact.
func isLossy(inputs map[string]array.Value) bool {
	for _, v := range inputs {
		a, ok := v.(*array.Array)
		if !ok || a.DType() != array.Uint8 || a.Load() != nil {
			continue
		}
		text := string(array.Data[uint8](a.Contiguous()))
		if strings.HasPrefix(text, "\xff\xd8") || strings.HasPrefix(text, "RIFF") {
			return true
		}
	}
	return false
}

// narrow is the relative tolerance, one unit in the last place, of types for
// which that is wider than 1e-3; of integers of one byte it is 1.
var narrow = map[array.DType]float64{
	array.BFloat16: 0x1p-7, array.Float8E4M3FN: 0x1p-3, array.Float8E4M3FNUZ: 0x1p-3, array.Float8E5M2: 0x1p-2, array.Float8E5M2FNUZ: 0x1p-2,
}

// exceptionsOf returns, by the name of a model's output, the exception of an
// operator that the output hangs on.
func exceptionsOf(m *ir.Model) map[string]*Exception {
	out := map[string]*Exception{}
	for _, t := range m.Graph().Outputs() {
		ops := map[*ir.Node]bool{}
		if t != nil {
			sources(t, ops)
		}
		for n := range ops {
			if e := exceptionFor(n); e != nil && (out[t.Name()] == nil || e.Random) {
				out[t.Name()] = e
			}
		}
	}
	return out
}

func exceptionFor(n *ir.Node) *Exception {
	for i := range Exceptions {
		if e := &Exceptions[i]; n.Is(e.Op) && (e.holds == nil || e.holds(n)) {
			return e
		}
	}
	return nil
}

// sources adds the nodes that a tensor hangs on, those of bodies included.
func sources(t *ir.Tensor, found map[*ir.Node]bool) {
	n, _ := t.Producer()
	if n == nil || found[n] {
		return
	}
	found[n] = true
	for _, in := range append(n.Inputs(), n.Captures()...) {
		if in != nil {
			sources(in, found)
		}
	}
	for _, body := range n.Bodies() {
		for _, inner := range body.Outputs() {
			sources(inner, found)
		}
	}
}

func (o Options) tolerance(want array.Value, e *Exception) runtime.Tolerance {
	t := runtime.Tolerance{Rtol: o.Rtol, Atol: o.Atol, EqualNaN: true}
	if t.Rtol == 0 {
		t.Rtol = 1e-3
		if a, ok := want.(*array.Array); ok {
			t.Rtol = max(t.Rtol, narrow[a.DType()])
		}
	}
	if t.Atol == 0 {
		t.Atol = 1e-7
		if e != nil {
			t.Atol = max(t.Atol, e.Atol)
		}
	}
	return t
}

// alike compares what is random: type, shape, and whether mean and spread could
// be those of one distribution.
func alike(got, want array.Value) error {
	a, ok := got.(*array.Array)
	b, ok2 := want.(*array.Array)
	if !ok || !ok2 || a.DType() != b.DType() || !slices.Equal(a.Shape(), b.Shape()) {
		return errors.New(runtime.Compare(got, want, runtime.Tolerance{}).Text())
	}
	x, err := a.Float64s()
	if err != nil {
		return err
	}
	y, err := b.Float64s()
	if err != nil {
		return err
	}
	meanX, varX := moments(x)
	meanY, varY := moments(y)
	const sigmas = 6
	n := float64(max(1, len(x)))
	if slack := sigmas * math.Sqrt((varX+varY)/n); math.Abs(meanX-meanY) > slack+1e-9 {
		return fmt.Errorf("got a mean of %g, want about %g, by %g at most", meanX, meanY, slack)
	}
	if n >= 100 && (varX > 2*varY || varY > 2*varX) {
		return fmt.Errorf("got a variance of %g, want about %g", varX, varY)
	}
	return nil
}

func moments(x []float64) (mean, variance float64) {
	n := float64(max(1, len(x)))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / n
	}
	return mean, variance
}
