package ops

import (
	"math"
	"slices"
	"sort"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// labelKey returns what elements of a are looked up by: strings by themselves,
// integers as int64, floats as float64 with one NaN and one zero.
func labelKeys(a *array.Array) ([]any, error) {
	out := make([]any, a.Size())
	switch dt := a.DType(); {
	case dt == array.String:
		for i, s := range a.Strings() {
			out[i] = s
		}
	case dt.IsInt() || dt == array.Bool:
		vs, err := a.Int64s()
		if err != nil {
			return nil, err
		}
		for i, v := range vs {
			out[i] = v
		}
	default:
		vs, err := a.Float64s()
		if err != nil {
			return nil, err
		}
		for i, v := range vs {
			switch {
			case v != v:
				out[i] = "NaN" // no float equals it
			case v == 0:
				out[i] = 0.0 // -0 too
			default:
				out[i] = v
			}
		}
	}
	return out, nil
}

// oneOf returns the array of the attribute, of several names of which one at
// most should be set, that is set; nil when none is.
func (s *Site) oneOf(names ...string) (*array.Array, error) {
	for _, name := range names {
		a := s.Attr(name)
		if a == nil {
			continue
		}
		switch v := a.Value.(type) {
		case []string:
			return array.FromStrings(v), nil
		case []int64:
			return array.FromSlice(v), nil
		case []float32:
			return array.FromSlice(v), nil
		case *ir.Literal:
			if v.Array == nil {
				return nil, s.Errorf("attribute %q: got a sparse tensor, want a dense one", name)
			}
			return v.Array, v.Array.Load()
		}
	}
	return nil, nil
}

// translated maps the elements of a: those of keys to the value at the same
// place, others to the default, of the values' type.
func (c *Call) translated(a, keys, values *array.Array, def any) (*array.Array, error) {
	from, err := labelKeys(keys)
	if err != nil {
		return nil, c.Errorf("keys: %w", err)
	}
	if len(from) != values.Size() {
		return nil, c.Errorf("got %d keys and %d values, want as many of each", len(from), values.Size())
	}
	if (keys.DType() == array.String) != (a.DType() == array.String) || keys.DType().IsFloat() != a.DType().IsFloat() {
		return nil, c.Errorf("input 0: got %s, want %s, the type of the keys", a.DType(), keys.DType())
	}
	index := make(map[any]int, len(from))
	for i, k := range from {
		index[k] = i
	}
	xs, err := labelKeys(a)
	if err != nil {
		return nil, c.Errorf("input 0: %w", err)
	}
	out, err := c.Make(values.DType(), a.Shape())
	if err != nil {
		return nil, err
	}
	if err := fillWith(out, def); err != nil {
		return nil, c.Errorf("default: %w", err)
	}
	at := make([]int, len(xs))
	for i, x := range xs {
		at[i] = -1
		if k, ok := index[x]; ok {
			at[i] = k
		}
	}
	takeBlocks(out, values, 1, at)
	return out, nil
}

// labelDefault returns what unknown elements become, for values of that type.
func (s *Site) labelDefault(dt array.DType) any {
	if t := s.Tensor("default_tensor"); t != nil && t.Load() == nil && t.Size() == 1 {
		return t.At(0)
	}
	switch {
	case dt == array.String:
		return s.strOr("default_string", "_Unused")
	case dt.IsInt():
		return int64(s.IntOr("default_int64", -1))
	}
	return float64(s.FloatOr("default_float", float32(math.Copysign(0, -1))))
}

func (s *Site) strOr(name, def string) string {
	if v, ok := attrOr[string](s, name); ok {
		return v
	}
	return def
}

func labelEncoder(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	keys, err := c.oneOf("keys_tensor", "keys_strings", "keys_int64s", "keys_floats")
	if err != nil {
		return err
	}
	values, err := c.oneOf("values_tensor", "values_strings", "values_int64s", "values_floats")
	if err != nil {
		return err
	}
	if keys == nil || values == nil {
		return c.Errorf("got no keys or no values, want one keys_… and one values_… attribute")
	}
	c.Out[0], err = c.translated(a, keys, values, c.labelDefault(values.DType()))
	return err
}

func inferLabelEncoder(c *Infer) error {
	out := TensorFact(array.Undefined, c.Fact(0).Dims)
	values, err := c.oneOf("values_tensor", "values_strings", "values_int64s", "values_floats")
	if err != nil {
		return err
	}
	if values != nil {
		out.DType = values.DType()
	}
	c.Set(0, out)
	return nil
}

// labelEncoder1 is LabelEncoder before opset 2: labels by their number, and back.
func labelEncoder1(c *Call) error {
	classes := c.Strs("classes_strings")
	numbers := make([]int64, len(classes))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return c.categories(classes, numbers)
}

func categoryMapper(c *Call) error {
	var numbers []int64
	for _, n := range c.Ints("cats_int64s") {
		numbers = append(numbers, int64(n))
	}
	return c.categories(c.Strs("cats_strings"), numbers)
}

// categories turns strings into the numbers at the same place, or back.
func (c *Call) categories(names []string, numbers []int64) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	s, n := array.FromStrings(names, len(names)), array.FromSlice(numbers, len(numbers))
	if a.DType() == array.String {
		c.Out[0], err = c.translated(a, s, n, int64(c.IntOr("default_int64", -1)))
	} else {
		c.Out[0], err = c.translated(a, n, s, c.strOr("default_string", "_Unused"))
	}
	return err
}

// inferCategories swaps strings and numbers.
func inferCategories(c *Infer) error {
	out := TensorFact(array.Undefined, c.Fact(0).Dims)
	switch c.Fact(0).DType {
	case array.String:
		out.DType = array.Int64
	case array.Int64:
		out.DType = array.String
	}
	c.Set(0, out)
	return nil
}

// oneHotEncoder spreads categories into vectors.
func oneHotEncoder(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	cats, err := c.oneOf("cats_strings", "cats_int64s")
	if err != nil {
		return err
	}
	if cats == nil {
		return c.Errorf("got no categories, want cats_int64s or cats_strings")
	}
	if a.DType().IsFloat() {
		if a, err = a.Cast(array.Int64); err != nil {
			return c.Errorf("input 0: %w", err)
		}
	}
	places := make([]int64, cats.Size())
	for i := range places {
		places[i] = int64(i)
	}
	at, err := c.translated(a, cats, array.FromSlice(places, len(places)), int64(-1))
	if err != nil {
		return err
	}
	n := len(places)
	out, err := c.Make(array.Float32, append(slices.Clone(a.Shape()), n))
	if err != nil {
		return err
	}
	dst := array.MutableData[float32](out)
	for i, p := range array.Data[int64](at) {
		switch {
		case p >= 0:
			dst[i*n+int(p)] = 1
		case c.IntOr("zeros", 1) == 0:
			return c.Errorf("input 0: got %v at %d, want one of the categories", a.At(i), i)
		}
	}
	c.Out[0] = out
	return nil
}

func inferOneHotEncoder(c *Infer) error {
	out := TensorFact(array.Float32, nil)
	n := max(len(c.Strs("cats_strings")), len(c.Ints("cats_int64s")))
	if dims := c.Fact(0).Dims; dims != nil {
		out.Dims = append(slices.Clone(dims), sym.Int(int64(n)))
	}
	c.Set(0, out)
	return nil
}

// needMap returns input 0, a map from keys to single values.
func (c *Call) needMap() (keys *array.Array, values []array.Value, err error) {
	if !c.Has(0) {
		return nil, nil, c.Errorf("input 0: got none, want a map")
	}
	m, ok := c.In[0].(*array.Map)
	if !ok {
		return nil, nil, c.Errorf("input 0: got %s, want a map", c.In[0].Summary())
	}
	if m.Keys.Size() != len(m.Values) {
		return nil, nil, c.Errorf("input 0: got %d keys and %d values", m.Keys.Size(), len(m.Values))
	}
	for i, v := range m.Values {
		if a, ok := v.(*array.Array); !ok || a.Size() != 1 {
			return nil, nil, c.Errorf("input 0: value %d: got %s, want one element", i, v.Summary())
		}
	}
	return m.Keys, m.Values, m.Keys.Load()
}

// dictVectorizer lays the values of a map out in the order of a vocabulary.
func dictVectorizer(c *Call) error {
	keys, values, err := c.needMap()
	if err != nil {
		return err
	}
	words, err := c.oneOf("string_vocabulary", "int64_vocabulary")
	if err != nil {
		return err
	}
	if words == nil {
		return c.Errorf("got no vocabulary, want string_vocabulary or int64_vocabulary")
	}
	places, err := labelKeys(words)
	if err != nil {
		return err
	}
	index := map[any]int{}
	for i, k := range places {
		index[k] = i
	}
	dt := c.mapValueType(values)
	out, err := c.Make(dt, []int{1, len(places)})
	if err != nil {
		return err
	}
	named, err := labelKeys(keys)
	if err != nil {
		return err
	}
	for i, k := range named {
		if p, ok := index[k]; ok {
			if err := out.SetAt(p, values[i].(*array.Array).At(0)); err != nil {
				return c.Errorf("input 0: value %d: %w", i, err)
			}
		}
	}
	c.Out[0] = out
	return nil
}

// mapValueType returns the element type of a map's values, by the declared type
// where the map is empty.
func (c *Call) mapValueType(values []array.Value) array.DType {
	if len(values) > 0 {
		return values[0].(*array.Array).DType()
	}
	if t := c.Node.Input(0); t != nil && t.Type() != nil && t.Type().Of != nil {
		return t.Type().Of.Elem
	}
	return array.Float32
}

func inferDictVectorizer(c *Infer) error {
	n := max(len(c.Strs("string_vocabulary")), len(c.Ints("int64_vocabulary")))
	out := TensorFact(array.Undefined, []sym.Expr{sym.Int(1), sym.Int(int64(n))})
	if t := c.Fact(0).Type; t != nil && t.Of != nil {
		out.DType = t.Of.Elem
	}
	c.Set(0, out)
	return nil
}

// castMapType returns the element type that cast_to names.
func (s *Site) castMapType() (array.DType, error) {
	switch to := s.strOr("cast_to", "TO_FLOAT"); to {
	case "TO_FLOAT":
		return array.Float32, nil
	case "TO_INT64":
		return array.Int64, nil
	case "TO_STRING":
		return array.String, nil
	default:
		return 0, s.Errorf("cast_to: got %q, want \"TO_FLOAT\", \"TO_INT64\" or \"TO_STRING\"", to)
	}
}

// castMap lays the values of a map out by ascending key, or at the places that
// the keys are.
func castMap(c *Call) error {
	keys, values, err := c.needMap()
	if err != nil {
		return err
	}
	dt, err := c.castMapType()
	if err != nil {
		return err
	}
	at, err := keys.Int64s()
	if err != nil {
		return c.Errorf("input 0: %w", err)
	}
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return at[order[i]] < at[order[j]] })
	n := len(at)
	sparse := c.Str("map_form") == "SPARSE"
	if sparse {
		n = c.IntOr("max_map", 1)
	}
	out, err := c.Make(dt, []int{1, n})
	if err != nil {
		return err
	}
	for place, i := range order {
		if sparse {
			if at[i] < 0 || at[i] >= int64(n) {
				return c.Errorf("input 0: got key %d, want 0 to %d, max_map less 1", at[i], n-1)
			}
			place = int(at[i])
		}
		v, err := values[i].(*array.Array).Cast(dt)
		if err != nil {
			return c.Errorf("input 0: %w", err)
		}
		if err := out.SetAt(place, v.At(0)); err != nil {
			return c.Errorf("input 0: %w", err)
		}
	}
	c.Out[0] = out
	return nil
}

func inferCastMap(c *Infer) error {
	dt, err := c.castMapType()
	if err != nil {
		return err
	}
	out := TensorFact(dt, []sym.Expr{sym.Int(1), {}})
	if c.Str("map_form") == "SPARSE" {
		out.Dims[1] = sym.Int(int64(c.IntOr("max_map", 1)))
	}
	c.Set(0, out)
	return nil
}

// zipMap makes a map of each row, whose keys are the class labels.
func zipMap(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	labels, err := c.oneOf("classlabels_strings", "classlabels_int64s")
	if err != nil {
		return err
	}
	n := c.columns()
	if labels == nil || labels.Size() != n || a.Rank() < 1 || a.Rank() > 2 || a.DType() != array.Float32 {
		return c.Errorf("input 0: got %s, want float32 of rank 1 or 2, and as many columns as class labels", a.Summary())
	}
	s := &array.Sequence{}
	xs := array.Data[float32](a)
	for at := 0; at < len(xs); at += n {
		m := &array.Map{Keys: labels}
		for _, x := range xs[at : at+n] {
			m.Values = append(m.Values, array.Scalar(x))
		}
		s.Items = append(s.Items, m)
	}
	c.Out[0] = s
	return nil
}

func inferZipMap(c *Infer) error {
	key := array.Int64
	if c.HasAttr("classlabels_strings") {
		key = array.String
	}
	m := &ir.Type{Kind: ir.MapKind, Key: key, Of: ir.TensorType(array.Float32, ir.Shape{})}
	c.Set(0, Fact{Kind: ir.SequenceKind, Type: &ir.Type{Kind: ir.SequenceKind, Of: m}})
	return nil
}

var mlLabelOps = []Op{
	{Domain: mlDomain, Name: "CastMap", Since: 1, Infer: inferCastMap, Eval: castMap},
	{Domain: mlDomain, Name: "CategoryMapper", Since: 1, Infer: inferCategories, Eval: categoryMapper},
	{Domain: mlDomain, Name: "DictVectorizer", Since: 1, Infer: inferDictVectorizer, Eval: dictVectorizer},
	{Domain: mlDomain, Name: "LabelEncoder", Since: 1, Infer: inferCategories, Eval: labelEncoder1},
	{Domain: mlDomain, Name: "LabelEncoder", Since: 2, Infer: inferLabelEncoder, Eval: labelEncoder},
	{Domain: mlDomain, Name: "OneHotEncoder", Since: 1, Infer: inferOneHotEncoder, Eval: oneHotEncoder},
	{Domain: mlDomain, Name: "ZipMap", Since: 1, Infer: inferZipMap, Eval: zipMap},
}
