//go:build cgo

package onnxruntime

// #include <stdlib.h>
// #include "native.h"
import "C"

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/starlarkgs/starlarkgs/array"
)

// copied counts the bytes of tensors that went to and from the runtime by a copy.
var copied atomic.Int64

// The kinds of value.
const (
	tensorKind   = 1
	sequenceKind = 2
	mapKind      = 3
)

// lacking are the element types that the runtime does not have.
var lacking = map[array.DType]bool{array.Float8E8M0: true, array.Float6E2M3: true, array.Float6E3M2: true}

// elementType returns the runtime's number of an element type.
func elementType(dt array.DType) (C.int32_t, error) {
	switch {
	case lacking[dt]:
		return 0, fmt.Errorf("got %s, which ONNX Runtime does not take", dt)
	case dt == array.Uint2 && headerNumbers():
		return headerUint2, nil
	case dt == array.Int2 && headerNumbers():
		return headerInt2, nil
	}
	return C.int32_t(dt), nil
}

// headerNumbers reports whether the runtime, where it makes tensors, goes by the
// numbers that its header has for the 2-bit types. Version 1.27 does not: it goes
// by the standard's, and takes the header's 24 for a type of whole bytes.
var headerNumbers = sync.OnceValue(func() bool { return C.sgs_packs(headerUint2) != 0 })

// dtypeOf is the other direction, for which every version goes by the header.
func dtypeOf(typ C.int32_t) (array.DType, error) {
	switch {
	case typ > 0 && typ <= C.int32_t(array.Float4E2M1):
		return array.DType(typ), nil
	case typ == headerUint2:
		return array.Uint2, nil
	case typ == headerInt2:
		return array.Int2, nil
	}
	return 0, fmt.Errorf("got element type %d, which this backend does not know", typ)
}

// The header's numbers of the 2-bit types.
const (
	headerUint2 = 24
	headerInt2  = 25
)

// slot makes a slot over the array's memory. The array must be kept alive as long
// as the slot is used.
func (c *call) slot(a *array.Array) (C.sgs_slot, error) {
	typ, err := elementType(a.DType())
	if err != nil {
		return C.sgs_slot{}, err
	}
	raw, err := a.Bytes()
	if err != nil {
		return C.sgs_slot{}, err
	}
	s := C.sgs_slot{data: C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))), bytes: C.size_t(len(raw)),
		dim: C.size_t(len(c.dims)), rank: C.size_t(a.Rank()), _type: typ}
	for _, d := range a.Shape() {
		c.dims = append(c.dims, C.int64_t(d))
	}
	return s, nil
}

// input makes the slot of an input: over the memory of a tensor of numbers; other
// values are made, and are the caller's to free.
func (c *call) input(v array.Value) (C.sgs_slot, error) {
	if a, ok := v.(*array.Array); ok && a.DType() != array.String {
		return c.slot(a)
	}
	made, err := toNative(v)
	return C.sgs_slot{value: made}, err
}

// toNative makes a value of the runtime, with memory of its own.
func toNative(v array.Value) (unsafe.Pointer, error) {
	switch v := v.(type) {
	case *array.Array:
		if v.DType() == array.String {
			return stringTensor(v)
		}
		c := &call{}
		s, err := c.slot(v)
		if err != nil {
			return nil, err
		}
		var made unsafe.Pointer
		copied.Add(int64(s.bytes))
		err = check(C.sgs_copy(&s, c.sizes(), &made))
		goruntime.KeepAlive(v)
		return made, err
	case *array.Sequence:
		if len(v.Items) == 0 {
			return nil, fmt.Errorf("got an empty sequence, which ONNX Runtime can't be given")
		}
		return compound(v.Items, sequenceKind)
	case *array.Map:
		values, err := gather(v.Values)
		if err != nil {
			return nil, err
		}
		return compound([]array.Value{v.Keys, values}, mapKind)
	case *array.Optional:
		if v.Value != nil {
			return toNative(v.Value)
		}
	}
	return nil, fmt.Errorf("got an absent optional, which ONNX Runtime can't be given")
}

func stringTensor(a *array.Array) (value unsafe.Pointer, err error) {
	c := &call{}
	for _, d := range a.Shape() {
		c.dims = append(c.dims, C.int64_t(d))
	}
	if err := check(C.sgs_new_strings(c.sizes(), C.size_t(a.Rank()), &value)); err != nil {
		return nil, err
	}
	for i, s := range a.Strings() {
		text := unsafe.Pointer(unsafe.StringData(s))
		if err := check(C.sgs_set_string(value, C.size_t(i), (*C.char)(text), C.size_t(len(s)))); err != nil {
			C.sgs_release_value(value)
			return nil, err
		}
	}
	return value, nil
}

// compound makes a sequence or a map of values that it shares.
func compound(items []array.Value, kind C.int) (value unsafe.Pointer, err error) {
	parts := make([]unsafe.Pointer, 0, len(items))
	defer func() {
		for _, p := range parts {
			C.sgs_release_value(p)
		}
	}()
	for _, v := range items {
		p, err := toNative(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return value, check(C.sgs_compound(unsafe.SliceData(parts), C.size_t(len(parts)), kind, &value))
}

// gather makes one tensor of the values of a map, which are scalars.
func gather(vs []array.Value) (*array.Array, error) {
	var first *array.Array
	var raw []byte
	var texts []string
	for _, v := range vs {
		a, ok := v.(*array.Array)
		if !ok || a.Size() != 1 || first != nil && a.DType() != first.DType() {
			return nil, fmt.Errorf("got a map with the value %s, want scalars of one type", v.Summary())
		}
		if first == nil {
			first = a
		}
		if a.DType() == array.String {
			texts = append(texts, a.Strings()...)
			continue
		}
		b, err := a.Bytes()
		if err != nil {
			return nil, err
		}
		raw = append(raw, b...)
	}
	switch {
	case first == nil:
		return nil, fmt.Errorf("got an empty map, which ONNX Runtime can't be given")
	case texts != nil:
		return array.FromStrings(texts), nil
	}
	return array.FromBytes(first.DType(), []int{len(vs)}, raw)
}

// fromNative copies a value of the runtime.
func fromNative(value unsafe.Pointer) (array.Value, error) {
	var info C.sgs_info
	if err := check(C.sgs_describe(value, &info)); err != nil {
		return nil, err
	}
	switch {
	case info.present == 0:
		return &array.Optional{}, nil
	case info.kind == tensorKind:
		return fromTensor(value, &info)
	case info.kind == sequenceKind:
		items, err := fromItems(value, int(info.count))
		return &array.Sequence{Items: items}, err
	case info.kind == mapKind:
		return fromMap(value)
	}
	return nil, fmt.Errorf("got a value of kind %d, which this backend does not return", info.kind)
}

func fromTensor(value unsafe.Pointer, info *C.sgs_info) (*array.Array, error) {
	dt, err := dtypeOf(info._type)
	if err != nil {
		return nil, err
	}
	dims := make([]C.int64_t, info.rank+1)
	if err := check(C.sgs_dims(value, unsafe.SliceData(dims), info.rank)); err != nil {
		return nil, err
	}
	shape := make([]int, info.rank)
	for i := range shape {
		shape[i] = int(dims[i])
	}
	if dt == array.String {
		texts, err := fromStrings(value, int(info.count))
		if err != nil {
			return nil, err
		}
		return array.FromStrings(texts, shape...), nil
	}
	n := (int(info.count)*dt.Bits() + 7) / 8
	copied.Add(int64(n))
	raw := array.AlignedBytes(n)
	copy(raw, unsafe.Slice((*byte)(info.data), n))
	return array.FromBytes(dt, shape, raw)
}

func fromStrings(value unsafe.Pointer, count int) ([]string, error) {
	var n C.size_t
	if err := check(C.sgs_strings_length(value, &n)); err != nil {
		return nil, err
	}
	text, offsets := make([]byte, n+1), make([]C.size_t, count+1)
	if err := check(C.sgs_strings(value, (*C.char)(unsafe.Pointer(&text[0])), n, &offsets[0], C.size_t(count))); err != nil {
		return nil, err
	}
	offsets[count] = n
	out := make([]string, count)
	for i := range out {
		out[i] = string(text[offsets[i]:offsets[i+1]])
	}
	return out, nil
}

func fromItems(value unsafe.Pointer, n int) ([]array.Value, error) {
	items := make([]array.Value, n)
	for i := range items {
		var item unsafe.Pointer
		if err := check(C.sgs_item(value, C.int(i), &item)); err != nil {
			return nil, err
		}
		v, err := fromNative(item)
		C.sgs_release_value(item)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

// fromMap takes the keys and the values, each a tensor.
func fromMap(value unsafe.Pointer) (array.Value, error) {
	parts, err := fromItems(value, 2)
	if err != nil {
		return nil, err
	}
	keys, ok := parts[0].(*array.Array)
	values, okToo := parts[1].(*array.Array)
	if !ok || !okToo {
		return nil, fmt.Errorf("got a map of %s to %s, want tensors", parts[0].Summary(), parts[1].Summary())
	}
	m := &array.Map{Keys: keys}
	for i := range keys.Size() {
		v, err := values.View([]array.Index{{Kind: array.AtIndex, At: i}})
		if err != nil {
			return nil, err
		}
		m.Values = append(m.Values, v)
	}
	return m, nil
}
