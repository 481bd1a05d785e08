package format

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/internal/starlex"
	"github.com/starlarkgs/starlarkgs/starlarkgs"
)

// unchanged returns an error unless the new text has the syntax tree that the old
// one had, and the same comments.
func unchanged(name string, before *syntax.File, src, out string) error {
	after, err := starlarkgs.Parse(name, out)
	if err != nil {
		return fmt.Errorf("%s: the layout would break the file, so it is left as it is: %w", name, err)
	}
	if !sameTree(reflect.ValueOf(before.Stmts), reflect.ValueOf(after.Stmts)) {
		return fmt.Errorf("%s: the layout would change what the script means, so the file is left as it is", name)
	}
	if !slices.Equal(comments(src), comments(out)) {
		return fmt.Errorf("%s: the layout would change a comment, so the file is left as it is", name)
	}
	return nil
}

var (
	positionType = reflect.TypeFor[syntax.Position]()
	parenType    = reflect.TypeFor[*syntax.ParenExpr]()
	literalType  = reflect.TypeFor[syntax.Literal]()
)

// sameTree compares two trees but for places, parentheses around an expression,
// and how a literal is spelled.
func sameTree(x, y reflect.Value) bool {
	x, y = inner(x), inner(y)
	if x.IsValid() != y.IsValid() {
		return false
	}
	if !x.IsValid() {
		return true
	}
	if x.Type() != y.Type() {
		return false
	}
	switch x.Kind() {
	case reflect.Struct:
		return x.Type() == positionType || sameFields(x, y)
	case reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !sameTree(x.Index(i), y.Index(i)) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(x.Interface(), y.Interface())
}

// inner returns what a pointer or an interface holds, parentheses left out.
func inner(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		if v.Type() == parenType && !v.IsNil() {
			v = v.Elem().FieldByName("X")
		} else {
			v = v.Elem()
		}
	}
	return v
}

func sameFields(x, y reflect.Value) bool {
	for i := range x.NumField() {
		f := x.Type().Field(i)
		if !f.IsExported() || x.Type() == literalType && f.Name == "Raw" {
			continue
		}
		if !sameTree(x.Field(i), y.Field(i)) {
			return false
		}
	}
	return true
}

// comments returns the comments of a text, sorted, since the layout may move one
// behind the statement that holds it.
func comments(src string) []string {
	var found []string
	l := starlex.New(src)
	for {
		from := l.Off
		t := l.Next()
		for _, line := range strings.Split(src[from:t.Off], "\n") {
			if i := strings.IndexByte(line, '#'); i >= 0 {
				found = append(found, strings.TrimSpace(line[i:]))
			}
		}
		if t.Kind == starlex.EOF {
			slices.Sort(found)
			return found
		}
	}
}
