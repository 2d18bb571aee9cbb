package wikitext

import (
	"math"
	"strconv"
	"strings"
)

// expression renders {{#expr:1+2}} as "3" and {{#ifexpr:1<2|yes|no}} as "yes". An invalid
// expression, for which MediaWiki shows an error message, is a hole.
func (c *call) expression(f function, first span) {
	text, known := c.condition(first)
	value, ok := 0.0, true
	if len(text) > 0 {
		value, ok = evaluate(text)
	}
	empty := len(text) == 0
	switch {
	case !known: // a hole already
	case !ok:
		c.wrong()
	case f == funcIfExpr:
		c.choose(value != 0, 1)
	case !empty:
		var buf [32]byte
		c.text(appendResult(buf[:0], value))
	}
}

// appendResult appends v as PHP prints numbers, with up to fourteen digits.
func appendResult(dst []byte, v float64) []byte {
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e14 {
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 14, 64), 64)
		if err != nil {
			panic("BUG: wikitext: cannot parse a formatted number")
		}
		if math.Abs(rounded) < 1e14 {
			return strconv.AppendFloat(dst, rounded, 'f', -1, 64)
		}
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', 13, 64), "E") // "1.5000000000000", "-05"
	mantissa = strings.TrimRight(mantissa, "0")
	if strings.HasSuffix(mantissa, ".") {
		mantissa += "0"
	}
	return append(append(append(dst, mantissa...), 'E', exponent[0]), strings.TrimLeft(exponent[1:], "0")...)
}

// unescapeOperators replaces what stands for an operator in wikitext.
var unescapeOperators = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&minus;", "-", "−", "-")

// evaluate computes an expression of MediaWiki's extension ParserFunctions; ok is false
// if the expression is invalid. Functions and powers whose last digits differ between
// machines are not supported.
func evaluate(text []byte) (v float64, ok bool) {
	if len(text) > maxExpression {
		return 0, false
	}
	e := evaluator{rest: unescapeOperators.Replace(string(text))}
	v, ok = e.binary(precedenceOr)
	e.skipBlanks()
	return v, ok && e.rest == "" && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// maxExpression is the maximum length of an expression in bytes. It also limits
// the recursion depth.
const maxExpression = 512

// An evaluator parses an expression from left to right; rest is the part not
// yet parsed.
type evaluator struct{ rest string }

func (e *evaluator) skipBlanks() { e.rest = strings.TrimLeft(e.rest, " \t\r\n") }

// next returns the word or mark at the beginning of the rest, in lower case, and its length.
func (e *evaluator) next() (token string, length int) {
	e.skipBlanks()
	for length < len(e.rest) && class[e.rest[length]]&classLetter != 0 && e.rest[length] < 0x80 {
		length++
	}
	switch {
	case length > 0:
	case e.rest == "":
		return "", 0
	case len(e.rest) > 1 && (e.rest[:2] == "<=" || e.rest[:2] == ">=" || e.rest[:2] == "<>" || e.rest[:2] == "!="):
		length = 2
	default:
		length = 1
	}
	return strings.ToLower(e.rest[:length]), length
}

// Precedences of operators. A higher one binds more strongly.
const (
	precedenceOr = iota + 2
	precedenceAnd
	precedenceCompare
	precedenceRound
	precedenceSum
	precedenceProduct
	precedencePower
	precedenceFunction
	precedenceSign // and the "e" of 1e3
)

var precedences = map[string]int{
	"or": precedenceOr, "and": precedenceAnd,
	"=": precedenceCompare, "<>": precedenceCompare, "!=": precedenceCompare, "<": precedenceCompare, ">": precedenceCompare, "<=": precedenceCompare, ">=": precedenceCompare,
	"round": precedenceRound, "+": precedenceSum, "-": precedenceSum,
	"*": precedenceProduct, "/": precedenceProduct, "div": precedenceProduct, "mod": precedenceProduct, "fmod": precedenceProduct,
	"^": precedencePower, "e": precedenceSign,
}

// binary evaluates operands joined by operators of at least the given precedence. All
// operators are left-associative.
func (e *evaluator) binary(precedence int) (v float64, ok bool) {
	v, ok = e.operand()
	for ok {
		op, length := e.next()
		if p := precedences[op]; p == 0 || p < precedence {
			return v, true
		}
		e.rest = e.rest[length:]
		var w float64
		if w, ok = e.binary(precedences[op] + 1); ok {
			v, ok = apply(op, v, w)
		}
	}
	return v, false
}

// operand evaluates a number, an expression in parentheses, or a sign or function
// with its operand.
func (e *evaluator) operand() (v float64, ok bool) {
	token, length := e.next()
	if token != "" && (token[0] == '.' || token[0] >= '0' && token[0] <= '9') {
		return e.number()
	}
	e.rest = e.rest[length:]
	switch token {
	case "(":
		if v, ok = e.binary(precedenceOr); ok {
			token, length = e.next()
			e.rest = e.rest[length:]
		}
		return v, ok && token == ")"
	case "+":
		return e.binary(precedenceSign + 1)
	case "-":
		v, ok = e.binary(precedenceSign + 1)
		return -v, ok
	case "pi":
		return math.Pi, true
	case "e":
		return math.E, true
	}
	f := unaryFunctions[token]
	if f == nil {
		return 0, false
	}
	if v, ok = e.binary(precedenceFunction + 1); ok {
		v = f(v)
	}
	return v, ok && !math.IsNaN(v)
}

var unaryFunctions = map[string]func(float64) float64{
	"abs": math.Abs, "floor": math.Floor, "ceil": math.Ceil, "sqrt": math.Sqrt,
	"trunc": func(v float64) float64 { return math.Trunc(v) + 0 },
	"not":   func(v float64) float64 { return truth(v == 0) },
}

// number reads digits and points; what follows a second point does not count.
func (e *evaluator) number() (v float64, ok bool) {
	n := 0
	for n < len(e.rest) && (e.rest[n] >= '0' && e.rest[n] <= '9' || e.rest[n] == '.') {
		n++
	}
	digits := e.rest[:n]
	e.rest = e.rest[n:]
	if whole, after, ok := strings.Cut(digits, "."); ok {
		after, _, _ = strings.Cut(after, ".")
		digits = "0" + whole + "." + after
	}
	v, err := strconv.ParseFloat(digits, 64)
	return v, err == nil
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// apply computes a op b; ok is false if the result is undefined. It is long
// because it is a table.
func apply(op string, a, b float64) (v float64, ok bool) {
	switch op {
	case "or":
		return truth(a != 0 || b != 0), true
	case "and":
		return truth(a != 0 && b != 0), true
	case "=":
		return truth(a == b), true
	case "<>", "!=":
		return truth(a != b), true
	case "<":
		return truth(a < b), true
	case ">":
		return truth(a > b), true
	case "<=":
		return truth(a <= b), true
	case ">=":
		return truth(a >= b), true
	case "+":
		return a + b, true
	case "-":
		return a - b, true
	case "*":
		return a * b, true
	case "/", "div":
		return a / b, b != 0
	case "mod":
		a, b = math.Trunc(a), math.Trunc(b)
		return math.Mod(a, b) + 0, b != 0
	case "fmod":
		return math.Mod(a, b), b != 0
	case "round":
		return roundTo(a, b)
	case "^":
		return power(a, b)
	case "e":
		p, ok := power(10, b)
		return a * p, ok
	}
	panic("BUG: wikitext: unknown operator " + op)
}

// maxDigits is the maximum exponent of power.
const maxDigits = 300

// roundTo rounds v to a number of decimals, which is truncated to an integer, halves away
// from zero. As in PHP before version 8.4, v counts with fifteen digits: 1.005 is rounded
// to 1.01.
func roundTo(v, decimals float64) (rounded float64, ok bool) {
	places := int(math.Trunc(max(min(decimals, maxDigits), -maxDigits)))
	digits := strconv.FormatFloat(math.Abs(v), 'e', 14, 64) // "1.00500000000000e+00"
	mantissa, exponent, _ := strings.Cut(digits, "e")
	n, err := strconv.Atoi(exponent)
	if err != nil || v == 0 {
		return v, true
	}
	mantissa = strings.Replace(mantissa, ".", "", 1)
	keep := n + 1 + places // digits that stay
	switch {
	case keep >= len(mantissa):
		return v, true
	case keep < 0:
		return math.Copysign(0, v), true
	}
	up := mantissa[keep] >= '5'
	whole := "0" + mantissa[:keep] // at most 15 digits
	w, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		panic("BUG: wikitext: cannot parse digits")
	}
	if up {
		w++
	}
	rounded, err = strconv.ParseFloat(strconv.FormatInt(w, 10)+"e"+strconv.Itoa(-places), 64)
	return math.Copysign(rounded, v), err == nil
}

// power computes v to the power of the integer n by multiplication, which gives
// the same digits on every machine. ok is false if n is not an integer or out
// of range.
func power(v, n float64) (result float64, ok bool) {
	if n != math.Trunc(n) || math.Abs(n) > maxDigits {
		return 0, false
	}
	result = 1.0
	for range int(math.Abs(n)) {
		result *= v
	}
	if n < 0 {
		return 1 / result, result != 0
	}
	return result, true
}
