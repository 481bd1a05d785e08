package onnx

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// segment is a piece of a file to write: bytes, the payload of a field, or a
// number of zeros.
type segment struct {
	bytes []byte
	src   source
	skip  int64
}

// expand replaces the placeholders in an encoded message by their payloads: it
// computes the length of every message around one, and copies the rest.
func expand(skeleton []byte, payloads []payload) (segments []segment, size int64) {
	x := &expander{payloads: payloads}
	size = x.message(modelMsg, skeleton)
	return x.out, size
}

type expander struct {
	payloads []payload
	out      []segment
}

// message appends the segments of a message and returns its size. The input is
// our own encoding, so a fault in it is a bug.
func (x *expander) message(m *message, b []byte) (size int64) {
	pending := 0 // start of what is copied as it is
	flush := func(end int) {
		if end > pending {
			x.out = append(x.out, segment{bytes: b[pending:end]})
			size += int64(end - pending)
		}
	}
	for at := 0; at < len(b); {
		num, typ, n := protowire.ConsumeTag(b[at:])
		if n < 0 {
			panic("internal error: the encoded model does not parse")
		}
		v := protowire.ConsumeFieldValue(num, typ, b[at+n:])
		if v < 0 {
			panic("internal error: the encoded model does not parse")
		}
		end := at + n + v
		sub := m.fields[num].msg
		switch {
		case m.tensor && num == elidedOffset:
			flush(at)
			i, _ := protowire.ConsumeVarint(b[at+n:])
			size += x.payload(x.payloads[i])
			pending = end
		case typ == protowire.BytesType && sub != nil && hasPlaceholder(sub, b[at+n:end]):
			flush(at + n)
			content, _ := protowire.ConsumeBytes(b[at+n:])
			size += x.nested(sub, content)
			pending = end
		}
		at = end
	}
	flush(len(b))
	return size
}

// nested appends a message with its length before it.
func (x *expander) nested(m *message, content []byte) int64 {
	head := len(x.out)
	x.out = append(x.out, segment{})
	n := x.message(m, content)
	x.out[head].bytes = protowire.AppendVarint(nil, uint64(n))
	return int64(len(x.out[head].bytes)) + n
}

func (x *expander) payload(p payload) int64 {
	head := protowire.AppendTag(nil, p.field, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(p.src.Len()))
	x.out = append(x.out, segment{bytes: head}, segment{src: p.src})
	return int64(len(head)) + p.src.Len()
}

// hasPlaceholder reports whether a message, given with its length, holds a
// placeholder; the look is only worth it in what may hold a tensor.
func hasPlaceholder(m *message, withLen []byte) bool {
	b, _ := protowire.ConsumeBytes(withLen)
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			panic(fmt.Sprintf("internal error: the encoded %s does not parse", m.name))
		}
		v := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m.tensor && num == elidedOffset {
			return true
		}
		if sub := m.fields[num].msg; sub != nil && typ == protowire.BytesType && hasPlaceholder(sub, b[n:n+v]) {
			return true
		}
		b = b[n+v:]
	}
	return false
}
