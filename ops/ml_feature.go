package ops

import (
	"math"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

const mlDomain = "ai.onnx.ml"

// mapFloats computes each element of input 0 in float64, in a row-major walk
// that also tells the column, into type dt.
func (c *Call) mapFloats(dt array.DType, f func(x float64, column int) float64) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if err := c.CheckSize(array.Float64, a.Shape()); err != nil {
		return err
	}
	xs, err := a.Float64s()
	if err != nil {
		return c.Errorf("input 0: %w", err)
	}
	cols := 1
	if a.Rank() > 0 {
		cols = a.Shape()[a.Rank()-1]
	}
	for i, x := range xs {
		xs[i] = f(x, i%cols)
	}
	c.Out[0], err = array.FromSlice(xs, a.Shape()...).Cast(dt)
	return err
}

// columns returns the number of features: the size of the last axis.
func (c *Call) columns() int {
	if a := c.Array(0); a != nil && a.Rank() > 0 {
		return a.Shape()[a.Rank()-1]
	}
	return 1
}

func binarizer(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	limit := float64(c.Float("threshold"))
	return c.mapFloats(a.DType(), func(x float64, _ int) float64 {
		if x > limit {
			return 1
		}
		return 0
	})
}

func scaler(c *Call) error {
	offset, err := c.perColumn("offset", 0)
	if err != nil {
		return err
	}
	scale, err := c.perColumn("scale", 1)
	if err != nil {
		return err
	}
	return c.mapFloats(array.Float32, func(x float64, col int) float64 {
		return (x - offset[col]) * scale[col]
	})
}

// perColumn returns a floats attribute that has one number for each feature, or
// one for all.
func (c *Call) perColumn(name string, def float64) ([]float64, error) {
	vs, n := c.Floats(name), c.columns()
	if len(vs) > 1 && len(vs) != n {
		return nil, c.Errorf("%s: got %d numbers, want 1 or %d, the number of features", name, len(vs), n)
	}
	if len(vs) > 0 {
		def = float64(vs[0])
	}
	out := slices.Repeat([]float64{def}, n)
	for i, v := range vs {
		if len(vs) == n {
			out[i] = float64(v)
		}
	}
	return out, nil
}

func imputer(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.DType().IsInt() {
		return c.imputeInts(a)
	}
	if len(c.Floats("imputed_value_floats")) == 0 {
		return c.Errorf("imputed_value_floats: got none, want one number, or one for each feature")
	}
	values, err := c.perColumn("imputed_value_floats", 0)
	if err != nil {
		return err
	}
	old := float64(c.Float("replaced_value_float"))
	return c.mapFloats(a.DType(), func(x float64, col int) float64 {
		if x == old || math.IsNaN(old) && math.IsNaN(x) {
			return values[col]
		}
		return x
	})
}

func (c *Call) imputeInts(a *array.Array) error {
	values := c.Ints("imputed_value_int64s")
	n := c.columns()
	if len(values) != 1 && len(values) != n {
		return c.Errorf("imputed_value_int64s: got %d numbers, want 1 or %d, the number of features", len(values), n)
	}
	xs, err := a.Int64s()
	if err != nil {
		return c.Errorf("input 0: %w", err)
	}
	old := int64(c.Int("replaced_value_int64"))
	for i, x := range xs {
		if x == old {
			xs[i] = int64(values[i%n%len(values)])
		}
	}
	c.Out[0], err = array.FromSlice(xs, a.Shape()...).Cast(a.DType())
	return err
}

// normalizer divides each row by its maximum, or its L1 or L2 norm.
func normalizer(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	xs, err := a.Float64s()
	if err != nil {
		return c.Errorf("input 0: %w", err)
	}
	n := c.columns()
	if a.Rank() > 2 {
		return c.Errorf("input 0: got rank %d, want 1 or 2", a.Rank())
	}
	for at := 0; at+n <= len(xs) && n > 0; at += n {
		row := xs[at : at+n]
		norm, err := c.normOf(row)
		if err != nil {
			return err
		}
		for i := range row {
			if norm != 0 {
				row[i] /= norm
			}
		}
	}
	c.Out[0], err = array.FromSlice(xs, a.Shape()...).Cast(array.Float32)
	return err
}

func (c *Call) normOf(row []float64) (float64, error) {
	sum := 0.0
	switch norm := c.Str("norm"); norm {
	case "", "MAX":
		return slices.Max(row), nil
	case "L1":
		for _, x := range row {
			sum += math.Abs(x)
		}
		return sum, nil
	case "L2":
		for _, x := range row {
			sum += x * x
		}
		return math.Sqrt(sum), nil
	default:
		return 0, c.Errorf("norm: got %q, want \"MAX\", \"L1\" or \"L2\"", norm)
	}
}

// inferFloats gives output 0 the sizes of input 0, as float32.
func inferFloats(c *Infer) error {
	c.Set(0, TensorFact(array.Float32, c.Fact(0).Dims))
	return nil
}

// arrayFeatureExtractor picks columns.
func arrayFeatureExtractor(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.Rank() < 1 {
		return c.Errorf("input 0: got a scalar, want rank 1 at least")
	}
	raw, err := c.IntsAt(1)
	if err != nil {
		return err
	}
	shape := slices.Clone(a.Shape())
	if len(shape) == 1 {
		shape = []int{1, shape[0]}
	}
	axis := len(shape) - 1
	for _, p := range raw {
		if p < 0 || p >= shape[axis] {
			return c.Errorf("indices: got %d, want 0 to %d", p, shape[axis]-1)
		}
	}
	c.Out[0], err = c.taken(a, shape, axis, raw)
	return err
}

func inferArrayFeatureExtractor(c *Infer) error {
	in := c.Fact(0)
	out := TensorFact(in.DType, nil)
	if in.Dims != nil {
		out.Dims = slices.Clone(in.Dims)
		if len(in.Dims) == 1 {
			out.Dims = []sym.Expr{sym.Int(1), {}}
		}
		var n sym.Expr
		if c.Fact(1).Dims != nil {
			n = sym.Product(c.Fact(1).Dims)
		}
		if len(out.Dims) > 0 {
			out.Dims[len(out.Dims)-1] = n
		}
	}
	c.Set(0, out)
	return nil
}

// featureVectorizer joins the features of all inputs.
func featureVectorizer(c *Call) error {
	dims := c.Ints("inputdimensions")
	if dims != nil && len(dims) != len(c.In) {
		return c.Errorf("inputdimensions: got %d sizes, want %d, one for each input", len(dims), len(c.In))
	}
	var parts []*array.Array
	for i := range c.In {
		a, err := c.Need(i)
		if err != nil {
			return err
		}
		rows, cols := 1, a.Size()
		if a.Rank() > 1 {
			rows, cols = a.Shape()[0], sizeOf(a.Shape()[1:])
		}
		if a, err = a.Reshape(rows, cols); err != nil {
			return err
		}
		if a, err = a.Cast(array.Float32); err != nil {
			return c.Errorf("input %d: %w", i, err)
		}
		if dims != nil {
			if dims[i] < 0 || dims[i] > mostPad {
				return c.Errorf("inputdimensions: got %d, want a size ≥ 0", dims[i])
			}
			if a, err = c.padded(a, []int{0, 0}, []int{0, dims[i] - cols}, nil); err != nil {
				return err
			}
		}
		parts = append(parts, a)
	}
	if len(parts) == 0 {
		return c.Errorf("got 0 inputs, want at least 1")
	}
	var err error
	c.Out[0], err = c.joined(parts, 1)
	return err
}

func inferFeatureVectorizer(c *Infer) error {
	out := TensorFact(array.Float32, make([]sym.Expr, 2))
	switch dims := c.Fact(0).Dims; {
	case len(dims) == 1:
		out.Dims[0] = sym.Int(1)
	case len(dims) > 1:
		out.Dims[0] = dims[0]
	}
	if dims := c.Ints("inputdimensions"); dims != nil {
		total := 0
		for _, d := range dims {
			total += d
		}
		out.Dims[1] = sym.Int(int64(total))
	}
	c.Set(0, out)
	return nil
}

var mlFeatureOps = []Op{
	{Domain: mlDomain, Name: "ArrayFeatureExtractor", Since: 1, Infer: inferArrayFeatureExtractor, Eval: arrayFeatureExtractor},
	{Domain: mlDomain, Name: "Binarizer", Since: 1, Infer: inferSame, Eval: binarizer},
	{Domain: mlDomain, Name: "FeatureVectorizer", Since: 1, Infer: inferFeatureVectorizer, Eval: featureVectorizer},
	{Domain: mlDomain, Name: "Imputer", Since: 1, Infer: inferSame, Eval: imputer},
	{Domain: mlDomain, Name: "Normalizer", Since: 1, Infer: inferFloats, Eval: normalizer},
	{Domain: mlDomain, Name: "Scaler", Since: 1, Infer: inferFloats, Eval: scaler},
}
