package array

import "testing"

func TestDTypes(t *testing.T) {
	all := DTypes()
	if len(all) != 28 || all[0] != Float32 || all[27] != Float6E3M2 {
		t.Fatalf("DTypes() = %v, want the 28 types from float32 to float6_e3m2fn", all)
	}
	for i, d := range all {
		if int(d) != i+1 || !d.Valid() {
			t.Errorf("type %d: number %d, Valid %t, want %d and true", i, d, d.Valid(), i+1)
		}
		for _, name := range []string{d.String(), d.ONNXName()} {
			if got, err := ParseDType(name); got != d || err != nil {
				t.Errorf("ParseDType(%q) = %s, %v, want %s", name, got, err, d)
			}
		}
		kinds := 0
		for _, is := range []bool{d.IsFloat(), d.IsInt(), d.IsComplex(), d == Bool || d == String} {
			if is {
				kinds++
			}
		}
		if kinds != 1 || d.IsInt() != (d.IsSigned() != d.IsUnsigned()) {
			t.Errorf("%s: of %d kinds, want 1; int %t, signed %t, unsigned %t", d, kinds, d.IsInt(), d.IsSigned(), d.IsUnsigned())
		}
	}
	for _, d := range []DType{Undefined, 29, 255} {
		if d.Valid() || d.Bits() != 0 || d.IsInt() || d.IsFloat() || d.IsComplex() || d.String() == "" || d.ONNXName() == "" {
			t.Errorf("%d counts as a type", d)
		}
	}
}

func TestBits(t *testing.T) {
	for bits, types := range map[int][]DType{
		2: {Int2, Uint2}, 4: {Int4, Uint4, Float4E2M1}, 0: {String}, 6: {Float6E2M3, Float6E3M2},
		8:  {Int8, Uint8, Bool, Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0},
		16: {Int16, Uint16, Float16, BFloat16}, 32: {Int32, Uint32, Float32}, 64: {Int64, Uint64, Float64, Complex64}, 128: {Complex128},
	} {
		for _, d := range types {
			if got := d.Bits(); got != bits {
				t.Errorf("%s.Bits() = %d, want %d", d, got, bits)
			}
		}
	}
}

func TestParseDType(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want DType
		err  string
	}{
		{"FLOAT", Float32, ""}, {"double", Float64, ""}, {"Float8_E4M3FN", Float8E4M3FN, ""}, {"FLOAT8E8M0", Float8E8M0, ""},
		{"float4_e2m1fn", Float4E2M1, ""}, {"7", Int64, ""}, {"26", Int2, ""}, {"28", Float6E3M2, ""},
		{"0", 0, `got the number 0, want 1 to 28`},
		{"29", 0, `got the number 29, want 1 to 28`},
		{"flaot32", 0, `got "flaot32", want the name of an element type such as "float32" (did you mean "float32"?)`},
		{"DUOBLE", 0, `got "DUOBLE", want the name of an element type such as "float32" (did you mean "DOUBLE"?)`},
		{"undefined", 0, `got "undefined", want the name of an element type such as "float32"`},
		{"", 0, `got "", want the name of an element type such as "float32"`},
	} {
		got, err := ParseDType(tc.in)
		if got != tc.want || errText(err) != tc.err {
			t.Errorf("ParseDType(%q) = %s, %q, want %s, %q", tc.in, got, errText(err), tc.want, tc.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
