package base

import (
	"math"
	"math/big"
	"strconv"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starlarkgs/starlarkgs/builtins/builtin"
)

var numberFuncs = []*builtin.Func{
	{
		Name: "round", Doc: "rounds a number, halves to even. Without digits it gives an int.",
		Params:  []builtin.Param{builtin.Req("number", "number", "what to round"), builtin.Opt("ndigits", nil, "int", "places behind the point; negative ones are before it")},
		Returns: "number", Example: `assert.eq(round(2.5), 2)`,
		Fn: round,
	},
	{
		Name: "sum", Doc: "adds the elements of an iterable to start.",
		Params:  []builtin.Param{builtin.Req("iterable", "iterable", "what to add").Positional(), builtin.Opt("start", 0, "any", "the first operand")},
		Returns: "number", Example: `assert.eq(sum([1, 2, 3]), 6)`,
		Fn: sum,
	},
}

func round(c *builtin.Call) (starlark.Value, error) {
	digits := c.Int("ndigits")
	if err := c.Err(); err != nil {
		return nil, err
	}
	switch x := c.Value("number").(type) {
	case starlark.Int:
		if digits >= 0 {
			return x, nil
		}
		return roundInt(x, -digits), nil
	case starlark.Float:
		if c.IsNone("ndigits") {
			return starlark.NumberToInt(starlark.Float(math.RoundToEven(float64(x))))
		}
		return starlark.Float(roundFloat(float64(x), digits)), nil
	}
	return nil, c.ArgErrorf("number", "got %s, want int or float", c.Value("number").Type())
}

// roundInt rounds to a multiple of 10^places, halves to even.
func roundInt(x starlark.Int, places int) starlark.Int {
	n := x.BigInt()
	if places > len(n.Text(10)) {
		return starlark.MakeInt(0)
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	quo, rem := new(big.Int).DivMod(n, unit, new(big.Int))
	switch rem.Lsh(rem, 1).Cmp(unit) {
	case 1:
		quo.Add(quo, big.NewInt(1))
	case 0:
		if quo.Bit(0) == 1 {
			quo.Add(quo, big.NewInt(1))
		}
	}
	return starlark.MakeBigInt(quo.Mul(quo, unit))
}

// roundFloat rounds the exact value of x, as the decimal text of it does.
func roundFloat(x float64, digits int) float64 {
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x) || digits > 400:
		return x
	case digits < -400:
		return math.Copysign(0, x)
	case digits >= 0:
		r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
		if err != nil {
			return x
		}
		return r
	}
	whole, frac := math.Modf(x)
	n, _ := big.NewFloat(whole).Int(nil)
	r := roundInt(starlark.MakeBigInt(n), -digits).BigInt()
	// A half of the unit that has a fraction behind it is more than a half.
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	twice := new(big.Int).Sub(n, r)
	if twice.Lsh(twice, 1); frac != 0 && twice.CmpAbs(unit) == 0 && twice.Sign() == sign(frac) {
		r.Add(r, unit.Mul(unit, big.NewInt(int64(sign(frac)))))
	}
	f, _ := new(big.Float).SetInt(r).Float64()
	if f == 0 {
		return math.Copysign(0, x)
	}
	return f
}

func sign(x float64) int {
	if x < 0 {
		return -1
	}
	return 1
}

func sum(c *builtin.Call) (starlark.Value, error) {
	acc := c.Value("start")
	v, limit := counted(c.Thread, c.Value("iterable"))
	it := starlark.Iterate(v)
	if it == nil {
		return nil, c.ArgErrorf("iterable", "got %s, want a list or another iterable", v.Type())
	}
	defer it.Done()
	var x starlark.Value
	for it.Next(&x) {
		next, err := starlark.Binary(syntax.PLUS, acc, x)
		if err != nil {
			return nil, err
		}
		acc = next
	}
	if limit != nil && limit.err != nil {
		return nil, limit.err
	}
	return acc, nil
}
