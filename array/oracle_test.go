package array

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// oracle calls f with each line of a file in testdata, which a script beside it
// has written with NumPy.
func oracle(t *testing.T, path string, f func(line string)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	lines := 0
	for in.Scan() {
		f(in.Text())
		lines++
	}
	if err := in.Err(); err != nil || lines < 100 {
		t.Fatalf("%s: read %d lines, error %v, want at least 100", path, lines, err)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func dtypeNamed(t *testing.T, s string) DType {
	t.Helper()
	dt, err := ParseDType(s)
	if err != nil {
		t.Fatal(err)
	}
	return dt
}

// castAs casts as a mode of cast.txt says.
func castAs(t *testing.T, a *Array, dt DType, mode string) *Array {
	t.Helper()
	var rounds []RoundMode
	if mode != "-" && mode != "nosat" {
		m, err := ParseRoundMode(mode)
		if err != nil {
			t.Fatal(err)
		}
		rounds = append(rounds, m)
	}
	out, err := a.CastWith(dt, mode != "nosat", rounds...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCastLikeNumPy(t *testing.T) {
	var from *Array
	oracle(t, "testdata/cast.txt", func(line string) {
		f := strings.Fields(line)
		switch f[0] {
		case "from":
			dt, raw := dtypeNamed(t, f[1]), unhex(t, f[2])
			a, err := FromBytes(dt, []int{len(raw) * 8 / dt.Bits()}, raw)
			if err != nil {
				t.Fatal(err)
			}
			from = a
		case "hash":
			checkHash(t, dtypeNamed(t, f[1]), f[2], f[3])
		default:
			dt := dtypeNamed(t, f[0])
			want, err := FromBytes(dt, from.Shape(), unhex(t, f[2]))
			if err != nil {
				t.Fatal(err)
			}
			compareCast(t, from, castAs(t, from, dt, f[1]), want, f[1])
		}
	})
}

// compareCast names the elements that differ.
func compareCast(t *testing.T, from, got, want *Array, mode string) {
	t.Helper()
	if Equal(got, want) {
		return
	}
	for i := range from.Size() {
		if g, w := got.bits(i), want.bits(i); g != w {
			t.Errorf("%s(%v) as %s, mode %s = %v (%x), want %v (%x)", from.DType(), from.At(i), want.DType(), mode, got.At(i), g, want.At(i), w)
		}
	}
}

func checkHash(t *testing.T, dt DType, mode, want string) {
	t.Helper()
	var in []float32
	for bits := uint64(0); bits < 1<<32; bits += 4099 {
		if v := math.Float32frombits(uint32(bits)); v == v {
			in = append(in, v)
		}
	}
	raw, err := castAs(t, FromSlice(in), dt, mode).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(raw)); got != want {
		t.Errorf("casts of %d float32 numbers to %s, mode %s: hash %s, want %s", len(in), dt, mode, got, want)
	}
}

// printed is a line of print.txt.
type printed struct {
	DType   string
	Shape   []int
	Hex     string
	Strings []string
	Ramp    []float64
	Scalars string
	Want    string
}

func (c *printed) array(t *testing.T) *Array {
	t.Helper()
	shape := cloned(c.Shape)
	if c.Strings != nil {
		return FromStrings(c.Strings, shape...)
	}
	dt := dtypeNamed(t, c.DType)
	if c.Ramp == nil {
		a, err := FromBytes(dt, shape, unhex(t, c.Hex))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	n, _ := count(shape)
	vs := make([]float64, n)
	for i := range vs {
		vs[i] = c.Ramp[0] + float64(i)*c.Ramp[1]
	}
	a, err := FromSlice(vs, shape...).Cast(dt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPrintLikeNumPy(t *testing.T) {
	oracle(t, "testdata/print.txt", func(line string) {
		var c printed
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Scalars != "" {
			checkScalars(t, c.Want)
			return
		}
		a := c.array(t)
		if got := a.String(); got != c.Want {
			t.Errorf("%s prints\n%s\nwant\n%s", a.Summary(), got, c.Want)
		}
	})
}

func checkScalars(t *testing.T, want string) {
	t.Helper()
	var lines []string
	for bits := range F16(0x7c00) {
		lines = append(lines, Scalar(bits).String())
	}
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n")))); got != want {
		t.Errorf("the text of all float16: hash %s, want %s", got, want)
	}
}
