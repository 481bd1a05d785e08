package ops

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// needStrings returns input i, which must be strings.
func (c *Call) needStrings(i int) (*array.Array, error) {
	a, err := c.Need(i)
	if err == nil && a.DType() != array.String {
		return nil, c.Errorf("input %d: got %s, want strings", i, a.DType())
	}
	return a, err
}

func stringConcat(c *Call) error {
	a, err := c.needStrings(0)
	if err != nil {
		return err
	}
	b, err := c.needStrings(1)
	if err != nil {
		return err
	}
	shape, err := c.broadcastShape(a, b)
	if err != nil {
		return err
	}
	out, err := c.Make(array.String, shape)
	if err != nil {
		return err
	}
	zipInto(a.Strings(), b.Strings(), array.MutableStrings(out), a.Shape(), b.Shape(), shape, joinStrings)
	c.Out[0] = out
	return nil
}

// joinStrings joins rows of which one may hold a single element that is repeated.
func joinStrings(a, b, out []string) {
	for i := range out {
		out[i] = a[i%len(a)] + b[i%len(b)]
	}
}

func inferStringConcat(c *Infer) error {
	c.Set(0, TensorFact(array.String, broadcastDims(c.Fact(0).Dims, c.Fact(1).Dims)))
	return nil
}

func regexFullMatch(c *Call) error {
	a, err := c.needStrings(0)
	if err != nil {
		return err
	}
	re, err := regexp.Compile(`\A(?:` + c.Str("pattern") + `)\z`)
	if err != nil {
		return c.Errorf("pattern: %w", err)
	}
	out, err := c.Make(array.Bool, a.Shape())
	if err != nil {
		return err
	}
	for i, s := range a.Strings() {
		array.MutableData[bool](out)[i] = re.MatchString(s)
	}
	c.Out[0] = out
	return nil
}

// splitString cuts s at a delimiter, or at runs of white space where that is "",
// at most so many times; a negative number is no bound.
func splitString(s, delimiter string, most int) []string {
	if delimiter != "" {
		if most < 0 {
			return strings.Split(s, delimiter)
		}
		return strings.SplitN(s, delimiter, most+1)
	}
	var parts []string
	for s = strings.TrimLeftFunc(s, unicode.IsSpace); s != ""; s = strings.TrimLeftFunc(s, unicode.IsSpace) {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 || most >= 0 && len(parts) == most {
			return append(parts, s)
		}
		parts = append(parts, s[:end])
		s = s[end:]
	}
	return parts
}

func stringSplit(c *Call) error {
	a, err := c.needStrings(0)
	if err != nil {
		return err
	}
	rows := make([][]string, a.Size())
	counts := make([]int64, a.Size())
	width := 0
	for i, s := range a.Strings() {
		rows[i] = splitString(s, c.Str("delimiter"), c.IntOr("maxsplit", -1))
		counts[i] = int64(len(rows[i]))
		width = max(width, len(rows[i]))
	}
	out, err := c.Make(array.String, append(slices.Clone(a.Shape()), width))
	if err != nil {
		return err
	}
	for i, row := range rows {
		copy(array.MutableStrings(out)[i*width:], row)
	}
	c.Out[0] = out
	if len(c.Out) > 1 {
		c.Out[1] = array.FromSlice(counts, a.Shape()...)
	}
	return nil
}

func inferStringSplit(c *Infer) error {
	out, counts := TensorFact(array.String, nil), TensorFact(array.Int64, c.Fact(0).Dims)
	if counts.Dims != nil {
		out.Dims = append(slices.Clone(counts.Dims), sym.Expr{})
	}
	c.Set(0, out)
	c.Set(1, counts)
	return nil
}

// caseChanger returns the function that the attributes name.
func (s *Site) caseChanger(action string) (func(string) string, error) {
	turkish := strings.HasPrefix(s.Str("locale"), "tr") || strings.HasPrefix(s.Str("locale"), "az")
	switch {
	case action == "" || action == "NONE":
		return func(s string) string { return s }, nil
	case action == "LOWER" && turkish:
		return func(s string) string { return strings.ToLowerSpecial(unicode.TurkishCase, s) }, nil
	case action == "UPPER" && turkish:
		return func(s string) string { return strings.ToUpperSpecial(unicode.TurkishCase, s) }, nil
	case action == "LOWER":
		return strings.ToLower, nil
	case action == "UPPER":
		return strings.ToUpper, nil
	}
	return nil, s.Errorf("case_change_action: got %q, want \"NONE\", \"LOWER\" or \"UPPER\"", action)
}

// stringNormalizer drops stop words and changes the case of the rest.
func stringNormalizer(c *Call) error {
	a, err := c.needStrings(0)
	if err != nil {
		return err
	}
	if a.Rank() != 1 && (a.Rank() != 2 || a.Shape()[0] != 1) {
		return c.Errorf("input 0: got shape %v, want [C] or [1 C]", a.Shape())
	}
	change, err := c.caseChanger(c.Str("case_change_action"))
	if err != nil {
		return err
	}
	key := func(s string) string { return s }
	if c.Int("is_case_sensitive") == 0 {
		if key, err = c.caseChanger("LOWER"); err != nil {
			return err
		}
	}
	stops := map[string]bool{}
	for _, w := range c.Strs("stopwords") {
		stops[key(w)] = true
	}
	kept := []string{}
	for _, s := range a.Strings() {
		if !stops[key(s)] {
			kept = append(kept, change(s))
		}
	}
	if len(kept) == 0 {
		kept = []string{""}
	}
	shape := ones(a.Rank())
	shape[a.Rank()-1] = len(kept)
	c.Out[0] = array.FromStrings(kept, shape...)
	return nil
}

func inferStringNormalizer(c *Infer) error {
	out := TensorFact(array.String, nil)
	if n := len(c.Fact(0).Dims); n == 1 || n == 2 {
		out.Dims = make([]sym.Expr, n)
		if n == 2 {
			out.Dims[0] = sym.Int(1)
		}
	}
	c.Set(0, out)
	return nil
}

var textOps = []Op{
	{Name: "StringConcat", Since: 20, Infer: inferStringConcat, Eval: stringConcat},
	{Name: "RegexFullMatch", Since: 20, Infer: inferBool, Eval: regexFullMatch},
	{Name: "StringSplit", Since: 20, Infer: inferStringSplit, Eval: stringSplit},
	{Name: "StringNormalizer", Since: 10, Infer: inferStringNormalizer, Eval: stringNormalizer},
	{Name: "TfIdfVectorizer", Since: 9, Infer: inferTfIdf, Eval: tfIdf},
}
