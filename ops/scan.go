package ops

import (
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// scanner is one run of a Scan body over a sequence.
type scanner struct {
	c      *Call
	body   *ir.Graph
	state  []array.Value
	inputs []*array.Array
	axes   []int
	back   []int // 1 where an input is scanned from its end
	length int
}

// listOr returns an ints attribute that gives one number for each of n things;
// zeros when it is not set.
func (s *Site) listOr(name string, n int) ([]int, error) {
	vs := s.Ints(name)
	if vs == nil {
		return make([]int, n), nil
	}
	if len(vs) != n {
		return nil, s.Errorf("%s: got %d numbers, want %d", name, len(vs), n)
	}
	return vs, nil
}

// scanParts divides the inputs from the first on into state and what is scanned.
func (s *Site) scanParts(first, inputs int) (states, scanned int, err error) {
	scanned = s.Int("num_scan_inputs")
	if states = inputs - first - scanned; scanned < 1 || states < 0 {
		return 0, 0, s.Errorf("num_scan_inputs: got %d for %d inputs", scanned, inputs-first)
	}
	return states, scanned, nil
}

// element returns the part of a at one position of an axis, without this axis.
func (c *Call) element(a *array.Array, axis, at int) (*array.Array, error) {
	shape := slices.Delete(slices.Clone(a.Shape()), axis, axis+1)
	steps := rowMajor(a.Shape())
	out, err := c.Make(a.DType(), shape)
	if err != nil {
		return nil, err
	}
	from := strided{offset: at * steps[axis]}
	from.steps = slices.Delete(steps, axis, axis+1)
	copyStrided(out, a, shape, strided{steps: rowMajor(shape)}, from)
	return out, nil
}

// run steps through the sequence; what it gives beside the state is collected.
func (s *scanner) run(outputs *collector) error {
	for t := range s.length {
		ins := slices.Clone(s.state)
		for i, a := range s.inputs {
			at := t
			if s.back[i] != 0 {
				at = s.length - 1 - t
			}
			e, err := s.c.element(a, s.axes[i], at)
			if err != nil {
				return err
			}
			ins = append(ins, e)
		}
		outs, err := s.c.Run(s.body, ins)
		if err != nil {
			return err
		}
		if len(outs) < len(s.state)+len(outputs.values) {
			return s.c.Errorf("the body gives %d outputs, want %d", len(outs), len(s.state)+len(outputs.values))
		}
		s.state = slices.Clone(outs[:len(s.state)])
		if err := outputs.add(outs[len(s.state):]); err != nil {
			return err
		}
	}
	return nil
}

// newScanner reads the attributes of opset 9 and later.
func newScanner(c *Call) (*scanner, error) {
	states, m, err := c.scanParts(0, len(c.In))
	if err != nil {
		return nil, err
	}
	s := &scanner{c: c, state: slices.Clone(c.In[:states]), length: -1}
	if s.body, err = c.bodyOf("body"); err != nil {
		return nil, err
	}
	if s.back, err = c.listOr("scan_input_directions", m); err != nil {
		return nil, err
	}
	if s.axes, err = c.listOr("scan_input_axes", m); err != nil {
		return nil, err
	}
	for i := range m {
		a, err := c.Need(states + i)
		if err != nil {
			return nil, err
		}
		if s.axes[i], err = c.normalAxis(s.axes[i], a.Rank()); err != nil {
			return nil, err
		}
		n := a.Shape()[s.axes[i]]
		if s.length >= 0 && n != s.length {
			return nil, c.Errorf("input %d: got %d elements to scan, want %d as the other inputs have", states+i, n, s.length)
		}
		s.inputs, s.length = append(s.inputs, a), n
	}
	return s, nil
}

func scan(c *Call) error {
	s, err := newScanner(c)
	if err != nil {
		return err
	}
	states := len(s.state)
	k := max(0, len(c.Out)-states)
	axes, err := c.listOr("scan_output_axes", k)
	if err != nil {
		return err
	}
	back, err := c.listOr("scan_output_directions", k)
	if err != nil {
		return err
	}
	outputs := &collector{c: c, values: make([][]array.Value, k)}
	if err := s.run(outputs); err != nil {
		return err
	}
	copy(c.Out, s.state)
	for i, vs := range outputs.values {
		if back[i] != 0 {
			slices.Reverse(vs)
		}
		all, err := c.stacked(vs, bodyType(s.body, states+i))
		if err != nil {
			return err
		}
		axis, err := c.normalAxis(axes[i], all.Rank())
		if err != nil {
			return err
		}
		if axis > 0 {
			perm := make([]int, 0, all.Rank())
			for p := 1; p < all.Rank(); p++ {
				perm = append(perm, p)
			}
			if all, err = c.permuted(all, slices.Insert(perm, axis, 0)); err != nil {
				return err
			}
		}
		c.Out[states+i] = all
	}
	return nil
}

func inferScan(c *Infer) error {
	g, err := c.bodyOf("body")
	if err != nil {
		return err
	}
	states, m, err := c.scanParts(0, len(c.In))
	if err != nil {
		return err
	}
	axes, err := c.listOr("scan_input_axes", m)
	if err != nil {
		return err
	}
	elems := make([]Fact, m)
	var length sym.Expr
	for i := range m {
		in := c.In[states+i]
		elems[i] = TensorFact(in.DType, nil)
		if in.Dims == nil {
			continue
		}
		axis, err := c.normalAxis(axes[i], len(in.Dims))
		if err != nil {
			return err
		}
		if length, err = c.agree(states+i, axis, length, in.Dims[axis]); err != nil {
			return err
		}
		elems[i].Dims = slices.Delete(slices.Clone(in.Dims), axis, axis+1)
	}
	state := slices.Clone(c.In[:states])
	outs, err := inferCarried(state, 0, func(state []Fact) ([]Fact, error) {
		return c.Run(g, slices.Concat(state, elems))
	})
	if err != nil {
		return err
	}
	outAxes, err := c.listOr("scan_output_axes", max(0, len(c.Out)-states))
	if err != nil {
		return err
	}
	for i := range c.Out {
		switch {
		case i < states:
			c.Set(i, state[i])
		case i < len(outs):
			c.Set(i, stackedFact(outs[i], outAxes[i-states], length))
		}
	}
	return nil
}

// scan8 is Scan in opset 8: a batch of sequences, whose lengths may differ.
func scan8(c *Call) error {
	states, m, err := c.scanParts(1, len(c.In))
	if err != nil {
		return err
	}
	body, err := c.bodyOf("body")
	if err != nil {
		return err
	}
	back, err := c.listOr("directions", m)
	if err != nil {
		return err
	}
	batch, longest, err := c.scanBatch(m)
	if err != nil {
		return err
	}
	lens := slices.Repeat([]int{longest}, batch)
	if c.Has(0) {
		if lens, err = c.IntsAt(0); err != nil {
			return err
		}
	}
	results := make([][]array.Value, len(c.Out)) // by output, of each sequence
	for b := range batch {
		if len(lens) != batch || lens[b] < 0 || lens[b] > longest {
			return c.Errorf("sequence_lens: got %v, want %d numbers from 0 to %d", lens, batch, longest)
		}
		s := &scanner{c: c, body: body, back: back, axes: make([]int, m), length: lens[b]}
		for i := 1; i < len(c.In); i++ {
			a, err := c.Need(i)
			if err != nil {
				return err
			}
			if a.Rank() < 1 || a.Shape()[0] != batch {
				return c.Errorf("input %d: got shape %v, want a first axis of %d, the batch", i, a.Shape(), batch)
			}
			e, err := c.element(a, 0, b)
			if err != nil {
				return err
			}
			if i <= states {
				s.state = append(s.state, e)
			} else {
				s.inputs = append(s.inputs, e)
			}
		}
		if err := s.sequence(results, longest); err != nil {
			return err
		}
	}
	for i, vs := range results {
		if c.Out[i], err = c.stacked(vs, nil); err != nil {
			return err
		}
	}
	return nil
}

// scanBatch returns the sizes of the batch and sequence axes.
func (c *Call) scanBatch(m int) (batch, longest int, err error) {
	for i := len(c.In) - m; i < len(c.In); i++ {
		a, err := c.Need(i)
		if err != nil {
			return 0, 0, err
		}
		if a.Rank() < 2 || i > len(c.In)-m && (a.Shape()[0] != batch || a.Shape()[1] != longest) {
			return 0, 0, c.Errorf("input %d: got shape %v, want the batch and sequence axes that all scanned inputs share", i, a.Shape())
		}
		batch, longest = a.Shape()[0], a.Shape()[1]
	}
	return batch, longest, nil
}

// sequence runs one sequence of a batch and appends its results, outputs padded
// with zeros to the longest one's length.
func (s *scanner) sequence(results [][]array.Value, longest int) error {
	states := len(s.state)
	outputs := &collector{c: s.c, values: make([][]array.Value, max(0, len(results)-states))}
	if err := s.run(outputs); err != nil {
		return err
	}
	for i := range results {
		if i < states {
			results[i] = append(results[i], s.state[i])
			continue
		}
		all, err := s.c.stacked(outputs.values[i-states], bodyType(s.body, i))
		if err != nil {
			return err
		}
		after := make([]int, all.Rank())
		after[0] = longest - all.Shape()[0]
		if all, err = s.c.padded(all, make([]int, all.Rank()), after, nil); err != nil {
			return err
		}
		results[i] = append(results[i], all)
	}
	return nil
}

func inferScan8(c *Infer) error {
	g, err := c.bodyOf("body")
	if err != nil {
		return err
	}
	states, _, err := c.scanParts(1, len(c.In))
	if err != nil {
		return err
	}
	var batch, longest sym.Expr
	ins := make([]Fact, len(c.In)-1)
	for i, f := range c.In[1:] {
		ins[i] = TensorFact(f.DType, nil)
		drop := 1 // the batch axis, and the sequence axis of what is scanned
		if i >= states {
			drop = 2
		}
		if len(f.Dims) < drop {
			continue
		}
		ins[i].Dims = slices.Clone(f.Dims[drop:])
		if batch = f.Dims[0]; drop == 2 {
			longest = f.Dims[1]
		}
	}
	outs, err := inferCarried(ins[:states:states], 0, func(state []Fact) ([]Fact, error) {
		return c.Run(g, slices.Concat(state, ins[states:]))
	})
	if err != nil {
		return err
	}
	for i := range c.Out {
		switch {
		case i < states:
			c.Set(i, stackedFact(ins[i], 0, batch))
		case i < len(outs):
			c.Set(i, stackedFact(stackedFact(outs[i], 0, longest), 0, batch))
		}
	}
	return nil
}

// sequenceMap runs its body on each item of the sequences among the inputs; a
// tensor goes to every run as it is.
func sequenceMap(c *Call) error {
	g, err := c.bodyOf("body")
	if err != nil {
		return err
	}
	first, err := c.items(0)
	if err != nil {
		return err
	}
	outs := make([]*array.Sequence, len(c.Out))
	for i := range outs {
		outs[i] = &array.Sequence{}
		c.Out[i] = outs[i]
	}
	for k := range first {
		ins := slices.Clone(c.In)
		for i, v := range ins {
			s, ok := v.(*array.Sequence)
			if !ok {
				continue
			}
			if len(s.Items) != len(first) {
				return c.Errorf("input %d: got %d items, want %d as input 0 has", i, len(s.Items), len(first))
			}
			ins[i] = s.Items[k]
		}
		vs, err := c.Run(g, ins)
		if err != nil {
			return err
		}
		if len(vs) < len(outs) {
			return c.Errorf("the body gives %d outputs, want %d", len(vs), len(outs))
		}
		for i, s := range outs {
			s.Items = append(s.Items, vs[i])
		}
	}
	return nil
}

func inferSequenceMap(c *Infer) error {
	g, err := c.bodyOf("body")
	if err != nil {
		return err
	}
	ins := slices.Clone(c.In)
	for i, f := range ins {
		if f.Kind == ir.SequenceKind {
			ins[i] = c.itemFact(i)
		}
	}
	outs, err := c.Run(g, ins)
	if err != nil {
		return err
	}
	for i := range c.Out {
		if i < len(outs) {
			c.Set(i, sequenceFact(outs[i]))
		}
	}
	return nil
}
