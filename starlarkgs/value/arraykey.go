package value

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/array/num"
)

// Bounds is a slice value: slice(1, 3).
type Bounds interface {
	Bounds() (start, stop, step starlark.Value)
}

// picks is the index arrays and masks of a key, by the axis of the array that
// each selects from; the basic key has whole slices in their places.
type picks struct {
	axes []int
	at   []*array.Array // int64
}

// asKey splits a key into its basic part and its index arrays.
func asKey(key starlark.Value, rank int) ([]array.Index, *picks, error) {
	items := starlark.Tuple{key}
	if t, ok := key.(starlark.Tuple); ok {
		items = t
	}
	var basic []array.Index
	var adv *picks
	axis := 0
	for _, item := range items {
		switch v := item.(type) {
		case *Array, *starlark.List:
			at, n, err := asPositions(v)
			if err != nil {
				return nil, nil, err
			}
			if adv == nil {
				adv = &picks{}
			}
			for k := range n {
				adv.axes = append(adv.axes, axis+k)
				adv.at = append(adv.at, at[k])
				basic = append(basic, array.Index{Kind: array.SliceIndex})
			}
			axis += n
			continue
		}
		k, err := asIndex(item)
		if err != nil {
			return nil, nil, err
		}
		basic = append(basic, k)
		if k.Kind == array.AtIndex || k.Kind == array.SliceIndex {
			axis++
		}
	}
	if axis > rank {
		return nil, nil, fmt.Errorf("got %d indices, want at most %d, the rank of the array", axis, rank)
	}
	return basic, adv, nil
}

func asIndex(v starlark.Value) (array.Index, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return array.Index{Kind: array.NewAxis}, nil
	case starlark.Int:
		n, err := AsInt(v, "array index")
		return array.Index{Kind: array.AtIndex, At: int(n)}, err
	case Bounds:
		return sliceIndex(v.Bounds())
	}
	return array.Index{}, fmt.Errorf("array index: got %s, want an int, slice(start, stop), None, or an array of ints or bools", v.Type())
}

func sliceIndex(start, stop, step starlark.Value) (array.Index, error) {
	k := array.Index{Kind: array.SliceIndex}
	for _, p := range []struct {
		v  starlark.Value
		to **int
	}{{start, &k.Start}, {stop, &k.Stop}} {
		if p.v == starlark.None {
			continue
		}
		n, err := AsInt(p.v, "slice")
		if err != nil {
			return k, err
		}
		i := int(n)
		*p.to = &i
	}
	if step == starlark.None {
		return k, nil
	}
	n, err := AsInt(step, "slice: step")
	if err == nil && n == 0 {
		err = fmt.Errorf("slice: step: got 0, want another number")
	}
	k.Step = int(n)
	return k, err
}

// asPositions returns the positions that an index array, or a mask of n axes,
// selects along each of its axes.
func asPositions(v starlark.Value) (at []*array.Array, n int, err error) {
	a, err := AsArray(v, array.Undefined, "array index")
	if err != nil {
		return nil, 0, err
	}
	switch {
	case a.DType() == array.Bool:
		return num.NonZero(a), a.Rank(), nil
	case a.DType().IsInt(), a.Size() == 0:
		a, err = a.Cast(array.Int64)
		return []*array.Array{a}, 1, err
	}
	return nil, 0, fmt.Errorf("array index: got an array of %s, want ints or bools", a.DType())
}

// pick gathers what index arrays select, broadcast together. As in NumPy their
// axes come where the first one stands when they are side by side, else first;
// here they must be side by side.
func (a *Array) pick(basic []array.Index, p *picks) (*array.Array, error) {
	base, shape, err := a.plan(basic, p)
	if err != nil {
		return nil, err
	}
	out, err := array.Make(a.a.DType(), shape)
	if err != nil {
		return nil, err
	}
	err = p.each(base, func(k int, key []array.Index) error {
		part, err := base.View(key)
		if err != nil {
			return err
		}
		to, err := out.View(p.target(k, shape))
		if err != nil {
			return err
		}
		for i := range part.Size() {
			if err := to.SetAt(i, part.At(i)); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (a *Array) storePicked(basic []array.Index, p *picks, x *array.Array) error {
	base, shape, err := a.plan(basic, p)
	if err != nil {
		return err
	}
	if x, err = fitTo(x, a.a.DType(), shape); err != nil {
		return err
	}
	write := func(x *array.Array) error {
		return p.each(base, func(k int, key []array.Index) error {
			part, err := base.View(key)
			if err != nil {
				return err
			}
			from, err := x.View(p.target(k, shape))
			if err != nil {
				return err
			}
			return store(part, from)
		})
	}
	return a.logged(func() (*array.Array, error) { return a.pick(basic, p) }, write, x)
}

// plan applies the basic part of the key and returns the shape of the result.
func (a *Array) plan(basic []array.Index, p *picks) (*array.Array, []int, error) {
	for _, k := range basic {
		if k.Kind != array.SliceIndex {
			return nil, nil, fmt.Errorf("array index: index arrays can be mixed with slices only; index in two steps")
		}
	}
	for i := 1; i < len(p.axes); i++ {
		if p.axes[i] != p.axes[i-1]+1 {
			return nil, nil, fmt.Errorf("array index: index arrays must stand side by side; index in two steps")
		}
	}
	base, err := a.a.View(basic)
	if err != nil {
		return nil, nil, err
	}
	shapes := make([][]int, len(p.at))
	for i, x := range p.at {
		shapes[i] = x.Shape()
	}
	common, err := array.BroadcastShapes(shapes...)
	if err != nil {
		return nil, nil, err
	}
	for i := range p.at {
		if p.at[i], err = p.at[i].BroadcastTo(common); err != nil {
			return nil, nil, err
		}
	}
	shape := append([]int{}, base.Shape()[:p.axes[0]]...)
	shape = append(shape, common...)
	return base, append(shape, base.Shape()[p.axes[len(p.axes)-1]+1:]...), nil
}

// each calls f with the key of every selected position.
func (p *picks) each(base *array.Array, f func(k int, key []array.Index) error) error {
	key := make([]array.Index, p.axes[0]+len(p.axes))
	for i := range p.axes[0] {
		key[i] = array.Index{Kind: array.SliceIndex}
	}
	for k := range p.at[0].Size() {
		for i, x := range p.at {
			key[p.axes[i]] = array.Index{Kind: array.AtIndex, At: int(x.At(k).(int64))}
		}
		if err := f(k, key); err != nil {
			return err
		}
	}
	return nil
}

// target is the key of position k, counted in row-major order over the axes of
// the index arrays, in the result.
func (p *picks) target(k int, shape []int) []array.Index {
	dims := p.at[0].Shape()
	key := make([]array.Index, p.axes[0]+len(dims))
	for i := range p.axes[0] {
		key[i] = array.Index{Kind: array.SliceIndex}
	}
	for i := len(dims) - 1; i >= 0; i-- {
		key[p.axes[0]+i] = array.Index{Kind: array.AtIndex, At: k % dims[i]}
		k /= dims[i]
	}
	return key
}
