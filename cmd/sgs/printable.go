package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// A model's texts are not trusted: what a terminal would obey is written as an
// escape, in what is printed for people and in JSON.

// printable escapes what is neither printable nor a line's end or a tab.
func printable(s string) string {
	return escaped(s, func(r rune) string { return strings.Trim(strconv.QuoteRuneToASCII(r), "'") })
}

func escaped(s string, escape func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// jsonTo returns an encoder that writes to w.
func jsonTo(w io.Writer) *json.Encoder { return json.NewEncoder(jsonWriter{w}) }

// jsonWriter escapes what JSON may hold as it is and a terminal obeys.
type jsonWriter struct{ w io.Writer }

// Write writes one document, as an encoder gives it.
func (j jsonWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(j.w, escaped(string(p), func(r rune) string {
		if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
			return fmt.Sprintf(`\u%04x\u%04x`, a, b)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}))
	return len(p), err
}
