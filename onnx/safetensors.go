package onnx

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/internal/mmap"
)

// A .safetensors file is eight bytes of the header's length, the header, a JSON
// object from each tensor's name to its type, shape and place, and the tensors
// one after another. Weights in one are external data like others, since their
// places are known; and a tensor whose entry gives no offset is looked up in the
// header by its name.

// maxSafetensorsHead is the largest header that the format allows.
const maxSafetensorsHead = 100_000_000

// safetensorsTypes are the names of the types that the format has.
var safetensorsTypes = map[array.DType]string{
	array.Bool: "BOOL", array.Int8: "I8", array.Int16: "I16", array.Int32: "I32", array.Int64: "I64",
	array.Uint8: "U8", array.Uint16: "U16", array.Uint32: "U32", array.Uint64: "U64",
	array.Float16: "F16", array.BFloat16: "BF16", array.Float32: "F32", array.Float64: "F64",
	array.Float8E4M3FN: "F8_E4M3", array.Float8E5M2: "F8_E5M2", array.Float8E8M0: "F8_E8M0", array.Complex64: "C64",
}

// safetensorsEntry is what the header says of a tensor. Offsets count from the
// end of the header.
type safetensorsEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// layoutSafetensors makes the header. The format has no gaps, so wider types go
// first, which aligns each tensor to its elements.
func (f *dataFile) layoutSafetensors() error {
	slices.SortStableFunc(f.weights, func(a, b *weight) int { return cmp.Compare(b.array.DType().Bits(), a.array.DType().Bits()) })
	head := map[string]any{"__metadata__": map[string]string{"format": "onnx"}}
	off := int64(0)
	for _, w := range f.weights {
		name := w.name
		for i := 1; head[name] != nil; i++ { // a name may come again in a body
			name = w.name + "_" + strconv.Itoa(i)
		}
		e := safetensorsEntry{DType: safetensorsTypes[w.array.DType()], Shape: append([]int{}, w.array.Shape()...), Offsets: [2]int64{off, off + w.array.NBytes()}}
		if e.DType == "" { // the others as the bytes that they are
			e.DType, e.Shape = "U8", []int{int(w.array.NBytes())}
		}
		head[name] = e
		w.offset = off
		off = e.Offsets[1]
	}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	if len(text) > maxSafetensorsHead {
		return fmt.Errorf("%s: the header takes %d bytes, want at most %d (use max_shard)", f.name, len(text), maxSafetensorsHead)
	}
	f.head = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	for _, w := range f.weights {
		w.offset += int64(len(f.head))
	}
	f.size = off + int64(len(f.head))
	return nil
}

// find returns the place of a tensor in a .safetensors file, by its header.
func (f *externalFile) find(name string) (off, n int64, err error) {
	if f.head == nil {
		if f.head, f.headSize, err = readSafetensorsHead(f.root, f.rel); err != nil {
			return 0, 0, faultf(ErrExternal, "external data %q: %v", f.location, err)
		}
	}
	e, ok := f.head[name]
	size := f.info.Size() - f.headSize
	if !ok || e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > size {
		return 0, 0, faultf(ErrExternal, "external data %q: the header gives tensor %q no place in the file", f.location, name)
	}
	return f.headSize + e.Offsets[0], e.Offsets[1] - e.Offsets[0], nil
}

func readSafetensorsHead(root, rel string) (map[string]safetensorsEntry, int64, error) {
	file, err := mmap.OpenIn(root, rel)
	if err != nil {
		return nil, 0, err
	}
	return decodeSafetensorsHead(file, file.Size())
}

// decodeSafetensorsHead reads the header of a file of size bytes.
func decodeSafetensorsHead(r io.ReaderAt, size int64) (head map[string]safetensorsEntry, length int64, err error) {
	var prefix [8]byte
	if _, err := r.ReadAt(prefix[:], 0); err != nil {
		return nil, 0, fmt.Errorf("got a file of %d bytes, want the header of .safetensors", size)
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > maxSafetensorsHead || int64(n) > size-8 {
		return nil, 0, fmt.Errorf("got a header of %d bytes in a file of %d, want at most %d", n, size, maxSafetensorsHead)
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil && err != io.EOF {
		return nil, 0, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, 0, fmt.Errorf("the header is no JSON object: %w", err)
	}
	head = make(map[string]safetensorsEntry, len(raw))
	for name, item := range raw {
		var e safetensorsEntry
		if name == "__metadata__" {
			continue
		}
		if err := json.Unmarshal(item, &e); err != nil {
			return nil, 0, fmt.Errorf("the header's entry %q: %w", name, err)
		}
		head[name] = e
	}
	return head, 8 + int64(n), nil
}
