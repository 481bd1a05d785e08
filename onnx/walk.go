package onnx

import (
	"fmt"

	"github.com/starlarkgs/starlarkgs/onnx/internal/typed"
	"google.golang.org/protobuf/encoding/protowire"
)

// elideFrom is the size from which a byte field of a tensor is left in the file.
const elideFrom = 1 << 10

// message describes what the walk must know of a message: which fields hold
// messages in which weights may lie.
type message struct {
	name   string
	fields map[protowire.Number]field
	tensor bool
}

type field struct {
	name string
	msg  *message
}

var (
	tensorMsg   = &message{name: "TensorProto", tensor: true}
	sparseMsg   = &message{name: "SparseTensorProto"}
	attrMsg     = &message{name: "AttributeProto"}
	nodeMsg     = &message{name: "NodeProto"}
	graphMsg    = &message{name: "GraphProto"}
	functionMsg = &message{name: "FunctionProto"}
	trainingMsg = &message{name: "TrainingInfoProto"}
	modelMsg    = &message{name: "ModelProto"}
)

func init() {
	sparseMsg.fields = map[protowire.Number]field{1: {"values", tensorMsg}, 2: {"indices", tensorMsg}}
	attrMsg.fields = map[protowire.Number]field{5: {"t", tensorMsg}, 6: {"g", graphMsg}, 10: {"tensors", tensorMsg},
		11: {"graphs", graphMsg}, 22: {"sparse_tensor", sparseMsg}, 23: {"sparse_tensors", sparseMsg}}
	nodeMsg.fields = map[protowire.Number]field{5: {"attribute", attrMsg}}
	graphMsg.fields = map[protowire.Number]field{1: {"node", nodeMsg}, 5: {"initializer", tensorMsg}, 15: {"sparse_initializer", sparseMsg}}
	functionMsg.fields = map[protowire.Number]field{7: {"node", nodeMsg}, 11: {"attribute_proto", attrMsg}}
	trainingMsg.fields = map[protowire.Number]field{1: {"initialization", graphMsg}, 2: {"algorithm", graphMsg}}
	modelMsg.fields = map[protowire.Number]field{7: {"graph", graphMsg}, 20: {"training_info", trainingMsg}, 25: {"functions", functionMsg}}
}

// The fields of TensorProto that the walk treats apart, those of package typed aside.
const (
	fieldRaw protowire.Number = 9

	elidedOffset protowire.Number = 536870904
	elidedLength protowire.Number = 536870905
	elidedField  protowire.Number = 536870906
	elidedKey    protowire.Number = 536870907
)

func isPayload(n protowire.Number) bool {
	switch n {
	case typed.Float, typed.Int32, typed.Int64, fieldRaw, typed.Double, typed.Uint64:
		return true
	}
	return false
}

// walker copies a message without its large byte fields. For each of them it
// leaves offset, length and field number in private fields of TensorProto,
// marked by a key that the input can't know.
type walker struct {
	c   *cursor
	out []byte
	key uint64
	n   counter
}

// lenWidth is the width of the padded varints that nested lengths are written
// as: they are patched when the content is known.
const lenWidth = 5

func appendLen(b []byte) []byte { return append(b, 0x80, 0x80, 0x80, 0x80, 0) }

func patchLen(b []byte, at int) {
	n := len(b) - at - lenWidth
	for i := range lenWidth - 1 {
		b[at+i] = byte(n>>(7*i))&0x7f | 0x80
	}
	b[at+lenWidth-1] = byte(n >> 28)
}

// walk copies the message that ends at end.
func (w *walker) walk(m *message, end int64, depth int) error {
	if depth > w.n.limits.Depth {
		return over("depth", "messages within messages", w.n.limits.Depth)
	}
	counts := map[protowire.Number]int{}
	for w.c.off < end {
		start := w.c.off
		tag, err := w.c.varint(end)
		if err != nil {
			return err
		}
		num, typ := protowire.DecodeTag(tag)
		if num < 1 {
			return faultf(ErrInvalid, "offset %#x: got field number %d, want a positive one", start, tag>>3)
		}
		if typ != protowire.BytesType {
			if err := w.scalar(tag, typ, end); err != nil {
				return err
			}
			continue
		}
		n, err := w.c.varint(end)
		if err != nil {
			return err
		}
		if int64(n) < 0 || int64(n) > end-w.c.off {
			return placed(m, num, counts, w.c.over(int64(n), end))
		}
		if err := w.n.field(m, num); err != nil {
			return err
		}
		if err := w.bytes(m, num, tag, int64(n), depth); err != nil {
			return placed(m, num, counts, err)
		}
		counts[num]++
	}
	return nil
}

// placed says in which field of the message an error is.
func placed(m *message, num protowire.Number, counts map[protowire.Number]int, err error) error {
	f, ok := m.fields[num]
	if !ok {
		return err
	}
	switch f.name {
	case "graph", "t", "g", "values", "indices", "sparse_tensor", "initialization", "algorithm":
		return at(f.name, err)
	}
	return at(fmt.Sprintf("%s[%d]", f.name, counts[num]), err)
}

// scalar copies a field that is no length-delimited one.
func (w *walker) scalar(tag uint64, typ protowire.Type, end int64) error {
	w.out = protowire.AppendVarint(w.out, tag)
	switch typ {
	case protowire.VarintType:
		v, err := w.c.varint(end)
		w.out = protowire.AppendVarint(w.out, v)
		return err
	case protowire.Fixed32Type, protowire.Fixed64Type:
		n := int64(4)
		if typ == protowire.Fixed64Type {
			n = 8
		}
		b, err := w.c.take(n, end)
		w.out = append(w.out, b...)
		return err
	}
	return faultf(ErrInvalid, "offset %#x: got wire type %d, want varint, fixed or bytes", w.c.off, typ)
}

func (w *walker) bytes(m *message, num protowire.Number, tag uint64, n int64, depth int) error {
	if m.tensor && n >= elideFrom && isPayload(num) {
		w.elide(num, n)
		return nil
	}
	w.out = protowire.AppendVarint(w.out, tag)
	sub := m.fields[num].msg
	if sub == nil && n > w.n.limits.String {
		return over("string", "bytes in one string", w.n.limits.String)
	}
	if sub == nil || n < elideFrom {
		w.out = protowire.AppendVarint(w.out, uint64(n))
		b, err := w.c.take(n, w.c.off+n)
		w.out = append(w.out, b...)
		return err
	}
	at := len(w.out)
	w.out = appendLen(w.out)
	if err := w.walk(sub, w.c.off+n, depth+1); err != nil {
		return err
	}
	if len(w.out)-at > 1<<31 {
		return faultf(ErrInvalid, "%s: what it says besides weights is larger than 2 GiB", sub.name)
	}
	patchLen(w.out, at)
	return nil
}

// elide leaves the field in the file.
func (w *walker) elide(num protowire.Number, n int64) {
	for _, f := range []struct {
		num protowire.Number
		v   uint64
	}{{elidedOffset, uint64(w.c.off)}, {elidedLength, uint64(n)}, {elidedField, uint64(num)}} {
		w.out = protowire.AppendTag(w.out, f.num, protowire.VarintType)
		w.out = protowire.AppendVarint(w.out, f.v)
	}
	w.out = protowire.AppendTag(w.out, elidedKey, protowire.Fixed64Type)
	w.out = protowire.AppendFixed64(w.out, w.key)
	w.c.off += n
}
