package ops

import "github.com/starlarkgs/starlarkgs/array"

// rotary turns pairs of a head's elements by the angle of their position.
func rotary(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	h, err := c.headsAt(0, c.Int("num_heads"))
	if err != nil {
		return err
	}
	dim := c.Int("rotary_embedding_dim")
	if dim == 0 {
		dim = h.size
	}
	if dim < 0 || dim > h.size || dim%2 != 0 {
		return c.Errorf("rotary_embedding_dim: got %d, want an even number up to the head's size, %d", dim, h.size)
	}
	cos, err := c.angles(1, h, dim/2)
	if err != nil {
		return err
	}
	sin, err := c.angles(2, h, dim/2)
	if err != nil {
		return err
	}
	first, second, step := 0, dim/2, 1
	if c.Int("interleaved") != 0 {
		second, step = 1, 2
	}
	for b := range h.n {
		for head := range h.heads {
			for i := range h.length {
				row := h.row(b, head, i)
				cs, sn := cos(b, i), sin(b, i)
				for k := range dim / 2 {
					p, q := first+k*step, second+k*step
					row[p], row[q] = cs[k]*row[p]-sn[k]*row[q], sn[k]*row[p]+cs[k]*row[q]
				}
			}
		}
	}
	out := array.FromSlice(h.x, h.shape()...)
	if a.Rank() == 3 {
		if out, err = out.Transpose(0, 2, 1, 3); err != nil {
			return err
		}
		if out, err = out.Contiguous().Reshape(a.Shape()...); err != nil {
			return err
		}
	}
	c.Out[0], err = out.Cast(a.DType())
	return err
}

// angles reads a cache of cosines or sines, which is by position where input 3
// gives the positions, else by batch and place.
func (c *Call) angles(input int, h *heads, n int) (func(b, i int) []float64, error) {
	cache, err := c.Need(input)
	if err != nil {
		return nil, err
	}
	x, err := cache.Float64s()
	if err != nil {
		return nil, err
	}
	if !c.Has(3) {
		if cache.Rank() != 3 || cache.Size() != h.n*h.length*n {
			return nil, c.Errorf("input %d: got %s, want shape [%d, %d, %d]", input, cache.Summary(), h.n, h.length, n)
		}
		return func(b, i int) []float64 { return x[(b*h.length+i)*n:][:n] }, nil
	}
	if cache.Rank() != 2 || cache.Shape()[1] != n {
		return nil, c.Errorf("input %d: got %s, want %d columns", input, cache.Summary(), n)
	}
	places, err := c.Need(3)
	if err != nil {
		return nil, err
	}
	ids, err := places.Int64s()
	if err != nil {
		return nil, err
	}
	if len(ids) != h.n*h.length {
		return nil, c.Errorf("position_ids: got %d elements, want %d", len(ids), h.n*h.length)
	}
	for _, id := range ids {
		if id < 0 || id >= int64(cache.Shape()[0]) {
			return nil, c.Errorf("position_ids: got %d, want 0 to %d", id, cache.Shape()[0]-1)
		}
	}
	return func(b, i int) []float64 { return x[int(ids[b*h.length+i])*n:][:n] }, nil
}

var rotaryOps = []Op{
	{Name: "RotaryEmbedding", Since: 23, Checks: []Check{rankIn(0, 3, 4), divides("num_heads", 0, -1, 3)}, Infer: inferSame, Eval: rotary},
}
