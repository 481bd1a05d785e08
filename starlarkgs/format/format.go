// Package format lays out scripts in one style, as gofmt does for Go.
//
// The layout is that of the library which formats Starlark for build files. It
// knows neither decorators nor while nor b"…", nor does it keep all texts of
// strings as they are; so these are masked by what it does know, and put back
// (mask.go). A text is given back only when its syntax tree and its comments are
// those that it had (tree.go), and when formatting it again changes nothing.
//
//	out, err := format.Source("edit.star", src)
package format

import (
	"fmt"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// maxRounds is how often a text is laid out until it stays as it is.
const maxRounds = 4

// Source returns the text of a script laid out. An error of syntax is a
// *starlarkgs.Error; any other says what the formatter can't do, and the text is
// best left alone.
func Source(name, src string) (string, error) {
	src = strings.TrimPrefix(src, "\ufeff")
	before, err := starlarkgs.Parse(name, src)
	if err != nil {
		return "", err
	}
	lf := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	out := lf
	for range maxRounds {
		next, err := round(name, out)
		if err != nil {
			return "", err
		}
		if next == out {
			if err := unchanged(name, before, lf, out); err != nil {
				return "", err
			}
			return out, nil
		}
		out = next
	}
	return "", fmt.Errorf("%s: the layout does not settle, so the file is left as it is", name)
}

// round lays out a text once.
func round(name, src string) (string, error) {
	m, err := maskSource(name, src)
	if err != nil {
		return "", err
	}
	text, err := layout(name, m.out.String())
	if err != nil {
		return "", err
	}
	return m.unmask(text), nil
}

// layout hands a masked text to the library, which knows no limits and may
// panic.
func layout(name, masked string) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: the formatter failed: %v", name, r)
		}
	}()
	file, err := build.ParseDefault(name, []byte(masked))
	if err != nil {
		return "", fmt.Errorf("the formatter does not know this syntax: %w", err)
	}
	return string(build.FormatWithoutRewriting(file)), nil
}
