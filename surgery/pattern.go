package surgery

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ir"
)

// Pattern is a small graph to look for: what its outputs are made of.
type Pattern struct {
	Outputs []*PatternValue
}

// PatternValue is one value of a pattern. What makes it says what it fits:
//
//	Param     any tensor, the same wherever it stands
//	Anything  any tensor
//	Constant  a constant of these values
//	Either    what one of several values fits
//	Output    an output of a node that fits
//
// In the inputs of a node, nil stands for one that is missing.
type PatternValue struct {
	name   string // of a parameter
	kind   valueKind
	values *array.Array
	alts   []*PatternValue
	node   *PatternNode
	slot   int
}

type valueKind uint8

const (
	paramValue valueKind = iota
	anyValue
	literalValue
	eitherValue
	outputValue
)

// PatternNode is one node of a pattern.
type PatternNode struct {
	// Op and Domain say which operator it calls; an Op of "" fits each.
	Op, Domain string
	Inputs     []*PatternValue
	// Attrs are attributes that the node must have, or the operator by default.
	// Those that are not named may be as they are.
	Attrs []*ir.Attr
	// Name makes the node's first output a value of the match, if it is not "".
	Name string
}

// Param returns a value that fits any tensor, the same wherever it stands.
func Param(name string) *PatternValue { return &PatternValue{kind: paramValue, name: name} }

// Anything returns a value that fits any tensor, another one each time it is met.
func Anything() *PatternValue { return &PatternValue{kind: anyValue} }

// Constant returns a value that fits a constant of equal values: a scalar fits
// one element of any rank, an array its own shape. Floats may differ as much as
// their storage in the model's type makes them.
func Constant(a *array.Array) *PatternValue { return &PatternValue{kind: literalValue, values: a} }

// Either returns a value that fits what one of those given fits; they are tried
// in order. nil among them makes an input one that may be missing.
func Either(alts ...*PatternValue) *PatternValue {
	return &PatternValue{kind: eitherValue, alts: alts}
}

// Maybe returns v as an optional part: for the output of a node, the node may be
// missing, and its first input that a node makes (else its first input) takes
// the place; an input that is no node's output may be missing itself.
func Maybe(v *PatternValue) *PatternValue {
	if v.kind != outputValue {
		return Either(v, nil)
	}
	var through *PatternValue
	for _, x := range v.node.Inputs {
		if x == nil {
			continue
		}
		if through == nil || x.made() && !through.made() {
			through = x
		}
	}
	return Either(v, through)
}

// Output returns output i of the node.
func (n *PatternNode) Output(i int) *PatternValue {
	return &PatternValue{kind: outputValue, node: n, slot: i}
}

// made reports whether a node makes v, in one case at least.
func (v *PatternValue) made() bool {
	return v != nil && (v.kind == outputValue || v.kind == eitherValue && slices.ContainsFunc(v.alts, (*PatternValue).made))
}

// check fails when a pattern can fit nothing, or not be searched for.
func (p *Pattern) check() error {
	if len(p.Outputs) == 0 {
		return errors.New("pattern: got no output, want what a node makes")
	}
	known, memo := map[any]bool{}, map[*PatternValue]map[any]bool{}
	for i, v := range p.Outputs {
		if !v.always(map[*PatternValue]bool{}, func(x *PatternValue) bool { return x.kind == outputValue }) {
			return fmt.Errorf("pattern: output %d: got a value that no node makes, want the output of a node", i)
		}
		if i > 0 && !v.joined(map[*PatternValue]bool{}, known) {
			return fmt.Errorf("pattern: output %d: got a part that shares nothing with those before it; match it by itself", i)
		}
		maps.Copy(known, v.bound(memo))
	}
	return nil
}

// bound returns the values and nodes that have a place once v has one,
// whichever alternatives hold.
func (v *PatternValue) bound(memo map[*PatternValue]map[any]bool) map[any]bool {
	if v == nil {
		return nil
	}
	if known := memo[v]; known != nil {
		return known
	}
	known := map[any]bool{v: true}
	memo[v] = known
	if v.kind == eitherValue && len(v.alts) > 0 {
		first := v.alts[0].bound(memo)
		for x := range first {
			if !slices.ContainsFunc(v.alts, func(y *PatternValue) bool { return !y.bound(memo)[x] }) {
				known[x] = true
			}
		}
	}
	if v.node != nil {
		known[v.node] = true
		for _, x := range v.node.Inputs {
			maps.Copy(known, x.bound(memo))
		}
	}
	return known
}

// always reports whether v is what f accepts, in each alternative.
func (v *PatternValue) always(seen map[*PatternValue]bool, f func(*PatternValue) bool) bool {
	if v == nil || v.kind != eitherValue {
		return v != nil && f(v)
	}
	if is, ok := seen[v]; ok {
		return is
	}
	seen[v] = len(v.alts) > 0 && !slices.ContainsFunc(v.alts, func(x *PatternValue) bool { return !x.always(seen, f) })
	return seen[v]
}

// joined reports whether v can be reached from the values and nodes that are
// known, whichever alternative holds.
func (v *PatternValue) joined(seen map[*PatternValue]bool, known map[any]bool) bool {
	if known[v] {
		return true
	}
	return v.always(seen, func(x *PatternValue) bool {
		if is, ok := seen[x]; ok {
			return is
		}
		switch x.kind {
		case paramValue:
			seen[x] = known[x]
		case outputValue:
			seen[x] = known[x.node] || slices.ContainsFunc(x.node.Inputs, func(y *PatternValue) bool { return y.joined(seen, known) })
		}
		return seen[x]
	})
}

// commutative lists the operators whose inputs may stand in any order.
var commutative = map[string]bool{
	"Add": true, "And": true, "BitwiseAnd": true, "BitwiseOr": true, "BitwiseXor": true, "Equal": true, "Max": true,
	"Mean": true, "Min": true, "Mul": true, "Or": true, "Sum": true, "Xor": true,
}
