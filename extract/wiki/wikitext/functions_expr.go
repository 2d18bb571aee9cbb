package wikitext

import (
	"bytes"
	"math"
	"strconv"
)

// expression renders {{#expr:1+2}} as "3" and {{#ifexpr:1<2|yes|no}} as "yes". It
// writes nothing if the expression is invalid or contains a template or variable, whose
// value is unknown.
func (c *call) expression(f function, first span) {
	if bytes.Contains(c.bytes(first), []byte("{{")) {
		return
	}
	text, mark := c.capture(first)
	value, ok := evaluate(text)
	ok = ok || len(text) == 0 && f == funcIfExpr // an empty condition is false
	c.release(mark)
	switch {
	case !ok:
	case f == funcIfExpr:
		c.choose(value != 0, 1)
	default:
		var buf [32]byte
		c.text(appendResult(buf[:0], value))
	}
}

// appendResult appends v as PHP prints numbers, with up to fourteen digits.
func appendResult(dst []byte, v float64) []byte {
	if v == 0 {
		v = 0 // not -0
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e14) {
		dst = strconv.AppendFloat(dst, v, 'E', -1, 64)
		return dst
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 14, 64), 64)
	if err != nil {
		panic("BUG: wikitext: cannot parse a formatted number")
	}
	return strconv.AppendFloat(dst, rounded, 'f', -1, 64)
}

// evaluate computes an expression of MediaWiki's extension ParserFunctions; ok is false
// if the expression is invalid. Trigonometric functions and logarithms are not
// supported, because their last digits differ between machines.
func evaluate(text []byte) (v float64, ok bool) {
	if len(text) == 0 || len(text) > maxExpression {
		return 0, false
	}
	e := evaluator{rest: text}
	v, ok = e.binary(0)
	e.skipBlanks()
	return v, ok && len(e.rest) == 0 && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// maxExpression is the maximum length of an expression in bytes. It also limits
// the recursion depth.
const maxExpression = 512

// An evaluator parses an expression from left to right; rest is the part not
// yet parsed.
type evaluator struct{ rest []byte }

func (e *evaluator) skipBlanks() { e.rest = bytes.TrimLeft(e.rest, " \t\r\n") }

// take skips word if the rest of the expression begins with it, in upper or lower case.
// It reports whether it skipped the word.
func (e *evaluator) take(word string) bool {
	n := len(word)
	if len(e.rest) < n || !bytes.EqualFold(e.rest[:n], []byte(word)) {
		return false
	}
	if isWord := class[word[0]]&classLetter != 0; isWord && len(e.rest) > n && class[e.rest[n]]&classLetter != 0 {
		return false
	}
	e.rest = e.rest[n:]
	return true
}

// operators are the binary operators, by increasing precedence. Within a level, an
// operator comes before its prefixes: "<=" before "<".
var operators = [][]string{
	{"or"}, {"and"},
	{"<>", "!=", "<=", ">=", "=", "<", ">"},
	{"round"},
	{"+", "-", "−"},
	{"*", "/", "div", "mod"},
	{"^"},
	{"e"},
}

// binary evaluates operands joined by operators of the given level (index in
// operators) or a higher one. All operators are left-associative.
func (e *evaluator) binary(level int) (v float64, ok bool) {
	if level == len(operators) {
		return e.unary()
	}
	v, ok = e.binary(level + 1)
	for ok {
		op := e.operator(level)
		if op == "" {
			return v, true
		}
		var w float64
		if w, ok = e.binary(level + 1); ok {
			v, ok = apply(op, v, w)
		}
	}
	return v, false
}

func (e *evaluator) operator(level int) string {
	e.skipBlanks()
	for _, op := range operators[level] {
		if e.take(op) {
			return op
		}
	}
	return ""
}

// unary evaluates a number, an expression in parentheses, or a sign or function
// with its operand.
func (e *evaluator) unary() (v float64, ok bool) {
	e.skipBlanks()
	switch {
	case e.take("("):
		v, ok = e.binary(0)
		e.skipBlanks()
		return v, ok && e.take(")")
	case e.take("+"):
		return e.unary()
	case e.take("-"), e.take("−"):
		v, ok = e.unary()
		return -v, ok
	case e.take("pi"):
		return math.Pi, true
	}
	for _, f := range unaryFunctions {
		if e.take(f.name) {
			v, ok = e.unary()
			return f.apply(v), ok
		}
	}
	return e.number()
}

var unaryFunctions = []struct {
	name  string
	apply func(float64) float64
}{
	{"abs", math.Abs}, {"floor", math.Floor}, {"ceil", math.Ceil}, {"trunc", math.Trunc}, {"sqrt", math.Sqrt},
	{"not", func(v float64) float64 { return truth(v == 0) }},
}

func (e *evaluator) number() (v float64, ok bool) {
	n := 0
	for n < len(e.rest) && (e.rest[n] >= '0' && e.rest[n] <= '9' || e.rest[n] == '.') {
		n++
	}
	if n == 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(e.rest[:n]), 64)
	e.rest = e.rest[n:]
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
	case "-", "−":
		return a - b, true
	case "*":
		return a * b, true
	case "/", "div":
		return a / b, b != 0
	case "mod":
		a, b = math.Trunc(a), math.Trunc(b)
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

// maxDigits is the maximum number of decimals of roundTo and the maximum
// exponent of power.
const maxDigits = 300

// roundTo rounds v to a number of decimals, halves away from zero. ok is false
// if decimals is not an integer or out of range.
func roundTo(v, decimals float64) (rounded float64, ok bool) {
	if decimals != math.Trunc(decimals) || math.Abs(decimals) > maxDigits {
		return 0, false
	}
	scale, _ := power(10, math.Abs(decimals))
	if decimals < 0 {
		return math.Round(v/scale) * scale, true
	}
	return math.Round(v*scale) / scale, true
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
