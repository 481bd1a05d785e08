// Package sym is integer arithmetic over symbols, for sizes that are not known
// before a model runs: 2*N+1, (H-3)//2+1.
//
// An Expr is a sum of products of atoms and a number. An atom is a symbol, or
// what addition and multiplication can't express:
//
//	N              a symbol: a size, taken to be ≥ 0
//	a//b           division, rounded down; b is taken not to be 0
//	min(a,b,…)     the least, max(a,b,…) the greatest
//
// Division rounded up and the remainder are written by these: (a+b-1)//b and
// a-b*(a//b). Sums and products are kept in one normal form, common factors of
// a division cancel, and multiples are taken out of it ((2*N+3)//2 is N+1), so
// equal means equal: Equal finds every equality that follows from the rules of
// sums, products and divisions by numbers, and never claims another.
//
// # The unknown
//
// The zero Expr is unknown: it equals nothing, not even itself, and what is
// computed from it is unknown. An expression that grows beyond a fixed size, or
// whose numbers leave 64 bits, becomes unknown too, so that no model can make
// the arithmetic slow.
//
// # Text
//
// String and Parse use the grammar of shapes that users write: + - * // %, min,
// max, ceildiv, parentheses, numbers and names, with the precedence of Python.
// Every character that is no operator, parenthesis, comma, quote or space may be
// part of a name; another name stands in backquotes: 2*`batch size`. A dim_param
// of a file may be anything at all: see FromText.
package sym
