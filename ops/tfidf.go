package ops

import (
	"slices"
	"strconv"
	"strings"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// gramPool is what TfIdfVectorizer looks for: the column of each n-gram, by its
// length and the joined text of its items.
type gramPool struct {
	columns []map[string]int // by length less 1
	width   int              // columns of the output
	lo, hi  int              // the lengths that count
	skips   int
}

// gramKey joins items so that no two lists have one key.
func gramKey(items []string) string {
	var b strings.Builder
	for _, s := range items {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}

// tfIdfWidth returns the number of the output's columns.
func (s *Site) tfIdfWidth() int {
	width := 0
	for _, i := range s.Ints("ngram_indexes") {
		width = max(width, i+1)
	}
	return width
}

func (s *Site) gramPool() (*gramPool, error) {
	pool := s.Strs("pool_strings")
	for _, v := range s.Ints("pool_int64s") {
		pool = append(pool, strconv.Itoa(v))
	}
	p := &gramPool{width: s.tfIdfWidth(), lo: s.Int("min_gram_length"), hi: s.Int("max_gram_length"), skips: s.Int("max_skip_count")}
	if p.lo < 1 || p.hi < p.lo || p.skips < 0 {
		return nil, s.Errorf("got n-grams of %d to %d items and %d skips, want lengths from 1 up and skips from 0 up", p.lo, p.hi, p.skips)
	}
	counts, indexes := s.Ints("ngram_counts"), s.Ints("ngram_indexes")
	gram := 0
	for k, from := range counts {
		to := len(pool)
		if k+1 < len(counts) {
			to = counts[k+1]
		}
		n := k + 1
		if from < 0 || to < from || to > len(pool) || (to-from)%n != 0 {
			return nil, s.Errorf("ngram_counts: got %v, want ascending places in a pool of %d items that hold whole n-grams", counts, len(pool))
		}
		columns := map[string]int{}
		for at := from; at < to; at += n {
			if gram >= len(indexes) || indexes[gram] < 0 {
				return nil, s.Errorf("ngram_indexes: got %d columns, want one ≥ 0 for each n-gram of the pool", len(indexes))
			}
			columns[gramKey(pool[at:at+n])] = indexes[gram]
			gram++
		}
		p.columns = append(p.columns, columns)
	}
	return p, nil
}

// count adds the n-grams of a row to the output's columns. Single items are
// counted once, whatever the skips.
func (p *gramPool) count(row []string, out []float32) {
	for n := p.lo; n <= min(p.hi, len(p.columns), len(row)); n++ {
		items := make([]string, n)
		for skip := 1; skip <= p.skips+1 && (n > 1 || skip == 1) && skip*(n-1) < len(row); skip++ {
			for start := 0; start+skip*(n-1) < len(row); start++ {
				for i := range items {
					items[i] = row[start+i*skip]
				}
				if col, ok := p.columns[n-1][gramKey(items)]; ok {
					out[col]++
				}
			}
		}
	}
}

func tfIdf(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	pool, err := c.gramPool()
	if err != nil {
		return err
	}
	if a.Rank() != 1 && a.Rank() != 2 {
		return c.Errorf("input 0: got rank %d, want 1 or 2", a.Rank())
	}
	words := a
	if a.DType() != array.String {
		if words, err = a.Cast(array.String); err != nil {
			return c.Errorf("input 0: %w", err)
		}
	}
	n := a.Shape()[a.Rank()-1]
	shape := append(slices.Clone(a.Shape()[:a.Rank()-1]), pool.width)
	out, err := c.Make(array.Float32, shape)
	if err != nil {
		return err
	}
	dst := array.MutableData[float32](out)
	for r := range sizeOf(a.Shape()[:a.Rank()-1]) {
		row := dst[r*pool.width : (r+1)*pool.width]
		pool.count(words.Strings()[r*n:(r+1)*n], row)
		if err := c.weigh(row); err != nil {
			return err
		}
	}
	c.Out[0] = out
	return nil
}

// weigh turns the counts of a row into what the mode wants.
func (c *Call) weigh(row []float32) error {
	weights := c.Floats("weights")
	mode := c.Str("mode")
	if mode != "TF" && mode != "IDF" && mode != "TFIDF" {
		return c.Errorf("mode: got %q, want \"TF\", \"IDF\" or \"TFIDF\"", mode)
	}
	for i, n := range row {
		if n == 0 || mode == "TF" {
			continue
		}
		if mode == "IDF" {
			row[i] = 1
		}
		if i < len(weights) {
			row[i] *= weights[i]
		}
	}
	return nil
}

func inferTfIdf(c *Infer) error {
	out := TensorFact(array.Float32, nil)
	if dims := c.Fact(0).Dims; len(dims) == 1 || len(dims) == 2 {
		out.Dims = slices.Clone(dims)
		out.Dims[len(dims)-1] = sym.Int(int64(c.tfIdfWidth()))
	}
	c.Set(0, out)
	return nil
}
