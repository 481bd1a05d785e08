package ops

import (
	"math"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/par"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// treeMode is the comparison at a node of a tree.
type treeMode uint8

const (
	treeLEQ treeMode = iota
	treeLT
	treeGTE
	treeGT
	treeEQ
	treeNEQ
	treeMember
	treeLeaf
)

var treeModes = map[string]treeMode{"BRANCH_LEQ": treeLEQ, "BRANCH_LT": treeLT, "BRANCH_GTE": treeGTE, "BRANCH_GT": treeGT,
	"BRANCH_EQ": treeEQ, "BRANCH_NEQ": treeNEQ, "BRANCH_MEMBER": treeMember, "LEAF": treeLeaf}

// treeNode is a node of a forest: a leaf, or a comparison and the two nodes that
// follow it.
type treeNode struct {
	mode       treeMode
	missing    bool // where NaN goes
	feature    int
	split      float64
	yes, no    int
	members    map[float64]bool
	first, end int // of a leaf: its part of the forest's weights
}

func (n *treeNode) holds(x float64) bool {
	if x != x {
		return n.missing
	}
	switch n.mode {
	case treeLEQ:
		return x <= n.split
	case treeLT:
		return x < n.split
	case treeGTE:
		return x >= n.split
	case treeGT:
		return x > n.split
	case treeEQ:
		return x == n.split
	case treeNEQ:
		return x != n.split
	}
	return n.members[x]
}

// leafWeight is what a leaf adds to a target.
type leafWeight struct {
	target int
	value  float64
}

// forest is a tree ensemble, ready to run.
type forest struct {
	nodes   []treeNode
	roots   []int
	weights []leafWeight
	targets int
}

// aggregate says how the leaves' values are put together.
type aggregate uint8

const (
	aggAverage aggregate = iota
	aggSum
	aggMin
	aggMax
)

var aggregates = map[string]aggregate{"AVERAGE": aggAverage, "SUM": aggSum, "MIN": aggMin, "MAX": aggMax}

// run drops one example through all trees into out, which holds the targets.
func (f *forest) run(x []float64, how aggregate, out []float64, seen []bool) bool {
	for _, at := range f.roots {
		for steps := 0; f.nodes[at].mode != treeLeaf; steps++ {
			n := &f.nodes[at]
			if steps > len(f.nodes) {
				return false // the nodes run in a circle
			}
			if at = n.no; n.holds(x[n.feature]) {
				at = n.yes
			}
		}
		leaf := &f.nodes[at]
		for _, w := range f.weights[leaf.first:leaf.end] {
			switch {
			case !seen[w.target]:
				out[w.target], seen[w.target] = w.value, true
			case how == aggMin:
				out[w.target] = min(out[w.target], w.value)
			case how == aggMax:
				out[w.target] = max(out[w.target], w.value)
			default:
				out[w.target] += w.value
			}
		}
	}
	if how == aggAverage {
		for i := range out {
			out[i] /= float64(len(f.roots))
		}
	}
	return true
}

// runAll runs every example; seen tells which targets any leaf spoke of.
func (f *forest) runAll(c *Call, how aggregate) (out []float64, seen []bool, rows int, err error) {
	xs, rows, cols, err := c.needMatrix()
	if err != nil {
		return nil, nil, 0, err
	}
	for i := range f.nodes {
		if n := &f.nodes[i]; n.mode != treeLeaf && (n.feature < 0 || n.feature >= cols) {
			return nil, nil, 0, c.Errorf("nodes_featureids: got %d, want 0 to %d, the features of the input", n.feature, cols-1)
		}
	}
	if err := c.CheckSize(array.Float64, []int{rows, f.targets}); err != nil {
		return nil, nil, 0, err
	}
	k := f.targets
	out, seen = make([]float64, rows*k), make([]bool, rows*k)
	ok := make([]bool, rows)
	par.For(rows, max(1, 512/max(len(f.roots), 1)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			ok[r] = f.run(xs[r*cols:(r+1)*cols], how, out[r*k:(r+1)*k], seen[r*k:(r+1)*k])
		}
	})
	for _, good := range ok {
		if !good {
			return nil, nil, 0, c.Errorf("the nodes of a tree run in a circle")
		}
	}
	return out, seen, rows, nil
}

func treeRegressor(c *Call) error {
	how, ok := aggregates[c.strOr("aggregate_function", "SUM")]
	if !ok {
		return c.Errorf("aggregate_function: got %q, want \"AVERAGE\", \"SUM\", \"MIN\" or \"MAX\"", c.Str("aggregate_function"))
	}
	k := c.IntOr("n_targets", 1)
	f, err := c.oldForest("target", k)
	if err != nil {
		return err
	}
	base, err := c.baseValues(k)
	if err != nil {
		return err
	}
	scores, _, rows, err := f.runAll(c, how)
	if err != nil {
		return err
	}
	for i := range scores {
		scores[i] += base[i%k]
	}
	for r := range rows {
		if err := c.transformScores(c.Str("post_transform"), scores[r*k:(r+1)*k]); err != nil {
			return err
		}
	}
	c.Out[0], err = matrixOut(scores, rows)
	return err
}

// baseValues returns base_values, one for each of k targets; zeros when there
// are none.
func (c *Call) baseValues(k int) ([]float64, error) {
	base, err := c.floatsOf("base_values")
	if err != nil {
		return nil, err
	}
	if len(base) == 0 {
		return make([]float64, k), nil
	}
	if len(base) != k {
		return nil, c.Errorf("base_values: got %d numbers, want %d", len(base), k)
	}
	return base, nil
}

func treeClassifier(c *Call) error {
	labels := c.classLabels("classlabels_int64s", "classlabels_strings")
	k := max(labels.count(), 1)
	f, err := c.oldForest("class", max(k, 2))
	if err != nil {
		return err
	}
	scores, seen, rows, err := f.runAll(c, aggSum)
	if err != nil {
		return err
	}
	base, err := c.floatsOf("base_values")
	if err != nil {
		return err
	}
	if len(base) != 0 && len(base) != k && len(base) != 1 {
		return c.Errorf("base_values: got %d numbers, want %d", len(base), k)
	}
	one, positive := f.oneClass(), f.positive()
	classes := make([]int, rows)
	var all []float64
	n := f.targets
	for r := range rows {
		row := scores[r*n : (r+1)*n]
		if k > 2 {
			for i, b := range base {
				row[i] += b
			}
			classes[r] = argMax(row)
		} else {
			row, classes[r] = binaryTree(row, seen[r*n:(r+1)*n], base, one, positive, c.Str("post_transform"))
		}
		if err := c.transformScores(c.Str("post_transform"), row); err != nil {
			return err
		}
		all = append(all, row...)
	}
	return c.classified(labels, classes, all, rows)
}

// binaryTree decides between two classes. Where all leaves speak of the first
// class only, their score is that of the second one, and the first one's follows
// from it: by its difference from 1 when the weights look like probabilities,
// else by its sign.
func binaryTree(row []float64, seen []bool, base []float64, one, positive bool, transform string) (scores []float64, class int) {
	if !one || seen[1] {
		for i, b := range base {
			row[i] += b
		}
	}
	if !one {
		return row, argMax(row)
	}
	raw := transform == "" || transform == "NONE" || transform == "PROBIT"
	limit := 0.0
	if positive && raw {
		limit = 0.5
	}
	score := row[1]
	if !seen[1] {
		if score = row[0]; len(base) > 0 {
			score += base[len(base)-1]
		}
		if row = []float64{-score, score}; positive && raw {
			row[0] = 1 - score
		}
	}
	if score > limit {
		class = 1
	}
	return row, class
}

// oneClass reports whether all weights are for one class.
func (f *forest) oneClass() bool {
	for _, w := range f.weights {
		if w.target != f.weights[0].target {
			return false
		}
	}
	return true
}

func (f *forest) positive() bool {
	for _, w := range f.weights {
		if w.value < 0 {
			return false
		}
	}
	return true
}

func treeEnsemble(c *Call) error {
	how := aggregate(min(max(c.IntOr("aggregate_function", 1), 0), 255))
	if how > aggMax {
		return c.Errorf("aggregate_function: got %d, want 0 to 3", c.Int("aggregate_function"))
	}
	f, err := c.newForest()
	if err != nil {
		return err
	}
	scores, _, rows, err := f.runAll(c, how)
	if err != nil {
		return err
	}
	transforms := []string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}
	t := c.Int("post_transform")
	if t < 0 || t >= len(transforms) {
		return c.Errorf("post_transform: got %d, want 0 to %d", t, len(transforms)-1)
	}
	for r := range rows {
		if err := c.transformScores(transforms[t], scores[r*f.targets:(r+1)*f.targets]); err != nil {
			return err
		}
	}
	c.Out[0], err = array.FromSlice(scores, rows, f.targets).Cast(c.Array(0).DType())
	return err
}

func inferTreeEnsemble(c *Infer) error {
	c.Set(0, TensorFact(c.Fact(0).DType, []sym.Expr{c.rowsOf(), sym.Int(int64(c.IntOr("n_targets", 1)))}))
	return nil
}

// memberSets reads the sets of BRANCH_MEMBER nodes: lists that NaN ends.
func memberSets(values []float64) []map[float64]bool {
	var sets []map[float64]bool
	open := map[float64]bool{}
	for _, v := range values {
		if math.IsNaN(v) {
			sets = append(sets, open)
			open = map[float64]bool{}
			continue
		}
		open[v] = true
	}
	if len(open) > 0 {
		sets = append(sets, open)
	}
	return sets
}

var mlTreeOps = []Op{
	{Domain: mlDomain, Name: "TreeEnsembleClassifier", Since: 1, Infer: inferClassifier("classlabels_int64s", "classlabels_strings"), Eval: treeClassifier},
	{Domain: mlDomain, Name: "TreeEnsembleRegressor", Since: 1, Infer: inferRegressor("n_targets"), Eval: treeRegressor},
	{Domain: mlDomain, Name: "TreeEnsemble", Since: 5, Infer: inferTreeEnsemble, Eval: treeEnsemble},
}
