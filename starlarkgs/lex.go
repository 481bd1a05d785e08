package starlarkgs

import "github.com/starlarkgs/starlarkgs/internal/starlex"

// The passes over the text speak of tokens all the time.
type (
	token     = starlex.Token
	tokenKind = starlex.Kind
	lexer     = starlex.Lexer
)

const (
	tokEOF     = starlex.EOF
	tokNewline = starlex.Newline
	tokName    = starlex.Name
	tokNumber  = starlex.Number
	tokString  = starlex.String
	tokOp      = starlex.Op
)

func newLexer(src string) *lexer { return starlex.New(src) }
