package typed

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/onnx/internal/pb"
)

// TestThereAndBack unpacks any bytes of each type and packs them again. What the
// values are is held against the onnx package in the command's test of types.
func TestThereAndBack(t *testing.T) {
	for _, dt := range array.DTypes() {
		if dt == array.String {
			continue
		}
		for n := range 9 {
			raw := make([]byte, (n*dt.Bits()+7)/8)
			for i := range raw {
				raw[i] = byte(i*151 + 19)
			}
			if used := n * dt.Bits() % 8; used != 0 && dt.Bits() == 6 {
				raw[len(raw)-1] &= 1<<used - 1 // of other types an entry is the whole byte
			}
			tp := &pb.TensorProto{DataType: proto.Int32(int32(dt)), Dims: []int64{int64(n)}, RawData: raw}
			if got := Pack(Unpack(tp)); !bytes.Equal(got, raw) {
				t.Errorf("%s[%d]: got % x, want % x", dt, n, got, raw)
			}
		}
	}
}

// TestAbsurdDims asks no more of elements of 6 bits than there are bytes.
func TestAbsurdDims(t *testing.T) {
	for _, dims := range [][]int64{{1 << 62}, {1 << 40, 1 << 40}, {-1}, {3, 0}, {5}} {
		tp := &pb.TensorProto{DataType: proto.Int32(int32(array.Float6E2M3)), Dims: dims, RawData: []byte{1, 2, 3}}
		if got := len(Unpack(tp).Int32Data); got > 4 {
			t.Errorf("dims %v: got %d elements of 3 bytes, want at most 4", dims, got)
		}
	}
}
