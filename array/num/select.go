package num

import "github.com/starlarkgs/starlarkgs/array"

// NonZero returns, for each axis, the positions of the elements that are not
// zero (or false, or empty), in row-major order.
func NonZero(a *array.Array) []*array.Array {
	rank := a.Rank()
	at := make([][]int64, rank)
	for i := range a.Size() {
		if isZero(a.At(i)) {
			continue
		}
		rest := i
		for k := rank - 1; k >= 0; k-- {
			d := a.Shape()[k]
			at[k] = append(at[k], int64(rest%d))
			rest /= d
		}
	}
	out := make([]*array.Array, rank)
	for k := range out {
		out[k] = array.FromSlice(at[k])
	}
	return out
}

func isZero(v any) bool {
	switch v := v.(type) {
	case bool:
		return !v
	case int64:
		return v == 0
	case uint64:
		return v == 0
	case float64:
		return v == 0
	case complex128:
		return v == 0
	case string:
		return v == ""
	}
	return false
}
