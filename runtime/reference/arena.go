package reference

import (
	"sync"
	"unsafe"

	"github.com/starlarkgs/starlarkgs/array"
)

// arena hands out the memory of values and takes it back after their last use,
// so that a session that runs again and again allocates only its outputs, and
// the collector of Go has nothing to do in between.
//
// It knows which memory the values of the frames stand in: a block whose last
// value has gone is free. What leaves a frame by another way, as the results of
// a body do, is disowned: from then on it is the collector's.
type arena struct {
	mu         sync.Mutex // kernels allocate from several goroutines
	live, free []*block
	bytes      int // of live and free blocks
	peak       int // of live blocks
	liveBytes  int
}

type block struct {
	mem  []byte
	refs int // values of frames
}

func (b *block) base() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b.mem))) }

// minBlock is the bytes below which an array is left to Go.
const minBlock = 1 << 10

// alloc returns zeroed memory and notes it in made.
func (a *arena) alloc(n int, made *[]*block) []byte {
	if n < minBlock {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.take(n)
	if b == nil {
		a.shrink(n)
		b = &block{mem: array.AlignedBytes(n)}
		a.bytes += n
	} else {
		clear(b.mem[:n])
	}
	a.live = append(a.live, b)
	a.liveBytes += len(b.mem)
	a.peak = max(a.peak, a.liveBytes)
	*made = append(*made, b)
	return b.mem[:n:n]
}

// take returns the smallest free block of n bytes, and at most twice as many.
func (a *arena) take(n int) *block {
	best := -1
	for i, b := range a.free {
		if size := len(b.mem); size >= n && size <= 2*n && (best < 0 || size < len(a.free[best].mem)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	b := a.free[best]
	last := len(a.free) - 1
	a.free[best], a.free[last] = a.free[last], nil
	a.free = a.free[:last]
	return b
}

// shrink gives free blocks up while, with n bytes more, there would be half as
// much again as was ever in use.
func (a *arena) shrink(n int) {
	most := max(a.peak, a.liveBytes+n) * 3 / 2
	for len(a.free) > 0 && a.bytes+n > most {
		last := len(a.free) - 1
		a.bytes -= len(a.free[last].mem)
		a.free[last] = nil
		a.free = a.free[:last]
	}
}

// find returns the live block in which an array lies, or nil.
func (a *arena) find(v *array.Array) *block {
	p := v.Base()
	if p == 0 {
		return nil
	}
	for i := len(a.live) - 1; i >= 0; i-- {
		if b := a.live[i]; p-b.base() < uintptr(len(b.mem)) {
			return b
		}
	}
	return nil
}

// hold notes that a frame has the value; drop that it has it no more.
func (a *arena) hold(v array.Value) { a.each(v, func(b *block) { b.refs++ }) }

func (a *arena) drop(v array.Value) {
	a.each(v, func(b *block) {
		if b.refs--; b.refs <= 0 {
			a.release(b)
		}
	})
}

// disown leaves the memory of a value to the collector.
func (a *arena) disown(v array.Value) {
	a.each(v, func(b *block) {
		if a.remove(b) {
			a.bytes -= len(b.mem)
		}
	})
}

// settle frees what a step allocated and no value stands in.
func (a *arena) settle(made []*block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range made {
		if b.refs <= 0 {
			a.release(b)
		}
	}
}

// forget leaves what is still live to the collector, after a run.
func (a *arena) forget() {
	for _, b := range a.live {
		a.bytes -= len(b.mem)
	}
	a.live, a.liveBytes = nil, 0
}

func (a *arena) release(b *block) {
	if a.remove(b) {
		a.free = append(a.free, b)
	}
}

func (a *arena) remove(b *block) bool {
	for i := len(a.live) - 1; i >= 0; i-- {
		if a.live[i] == b {
			last := len(a.live) - 1
			a.live[i], a.live[last] = a.live[last], nil
			a.live = a.live[:last]
			a.liveBytes -= len(b.mem)
			return true
		}
	}
	return false
}

// each calls f for the block of every array in v.
func (a *arena) each(v array.Value, f func(*block)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.walk(v, f)
}

func (a *arena) walk(v array.Value, f func(*block)) {
	switch v := v.(type) {
	case *array.Array:
		if b := a.find(v); b != nil {
			f(b)
		}
	case *array.Sequence:
		for _, x := range v.Items {
			a.walk(x, f)
		}
	case *array.Optional:
		if v.Value != nil {
			a.walk(v.Value, f)
		}
	case *array.Map:
		a.walk(v.Keys, f)
		for _, x := range v.Values {
			a.walk(x, f)
		}
	}
}
