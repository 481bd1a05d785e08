package starlex

import (
	"slices"
	"testing"
)

func TestTokens(t *testing.T) {
	tests := []struct {
		src  string
		want []string // the texts; "." for the end of a logical line
	}{
		{"x = [1,\n  2] # c\n", []string{"x", "=", "[", "1", ",", "2", "]", "."}},
		{"a\\\n+b\n\n\nc", []string{"a", "+", "b", ".", "c"}},
		{`rb'x\'' b"" r'\' '` + " b'''a\nb'''", []string{`rb'x\''`, `b""`, `r'\' '`, "b'''a\nb'''"}},
		{"'''a\nb''' \"x", []string{"'''a\nb'''", `"x`}},
		{"x //= 0x1F+1e-3.foo", []string{"x", "//=", "0x1F", "+", "1e-3.", "foo"}},
		{"é_1 == ü # @", []string{"é_1", "==", "ü"}},
		{"@a\r\ndef f(): pass\r", []string{"@", "a", ".", "def", "f", "(", ")", ":", "pass", "."}},
	}
	for _, tt := range tests {
		l := New(tt.src)
		var got []string
		for tok := l.Next(); tok.Kind != EOF; tok = l.Next() {
			if tok.Kind == Newline {
				got = append(got, ".")
			} else {
				got = append(got, l.Text(tok))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.src, got, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	l := New("(é,\n  x)\ny")
	want := []Token{
		{Kind: Op, Off: 0, End: 1, Line: 1, Col: 1, EndLine: 1, EndCol: 2, First: true, LineFirst: true},
		{Kind: Name, Off: 1, End: 3, Line: 1, Col: 2, EndLine: 1, EndCol: 3},
		{Kind: Op, Off: 3, End: 4, Line: 1, Col: 3, EndLine: 1, EndCol: 4},
		{Kind: Name, Off: 7, End: 8, Line: 2, Col: 3, EndLine: 2, EndCol: 4, LineFirst: true},
		{Kind: Op, Off: 8, End: 9, Line: 2, Col: 4, EndLine: 2, EndCol: 5},
		{Kind: Newline, Off: 9, End: 10, Line: 2, Col: 5, EndLine: 3, EndCol: 1},
		{Kind: Name, Off: 10, End: 11, Line: 3, Col: 1, EndLine: 3, EndCol: 2, First: true, LineFirst: true},
		{Kind: EOF, Off: 11, End: 11, Line: 3, Col: 2, EndLine: 3, EndCol: 2},
	}
	for i, w := range want {
		if got := l.Next(); got != w {
			t.Errorf("token %d: got %+v, want %+v", i, got, w)
		}
	}
}
