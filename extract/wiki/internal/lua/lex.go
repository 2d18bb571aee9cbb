package lua

import (
	"fmt"
	"strings"
)

// A token of a program. kind is the text of a keyword or operator, or one of the names
// below.
type token struct {
	kind string
	text string // of a name or string
	num  float64
	line int32
}

const (
	tokenEnd    = "<end>"
	tokenName   = "<name>"
	tokenString = "<string>"
	tokenNumber = "<number>"
)

// isKeyword reports whether a name is a keyword.
func isKeyword(name string) bool {
	switch name {
	case "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or", "repeat",
		"return", "then", "true", "until", "while":
		return true
	}
	return false
}

// A lexer splits a program into tokens.
type lexer struct {
	chunk string
	src   string
	pos   int
	line  int32
}

// fail ends the compilation.
func (l *lexer) fail(format string, args ...any) {
	panic(&Failure{failSyntax, fmt.Sprintf("%s:%d: ", l.chunk, l.line) + fmt.Sprintf(format, args...)})
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// at returns the byte at pos+k, or 0 after the end.
func (l *lexer) at(k int) byte {
	if l.pos+k < len(l.src) {
		return l.src[l.pos+k]
	}
	return 0
}

// blank skips white space and comments.
func (l *lexer) blank() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == '\n':
			l.line++
			l.pos++
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			l.pos++
		case c == '-' && l.at(1) == '-':
			l.pos += 2
			if _, ok := l.long(); ok {
				continue
			}
			if k := strings.IndexByte(l.src[l.pos:], '\n'); k >= 0 {
				l.pos += k
			} else {
				l.pos = len(l.src)
			}
		default:
			return
		}
	}
}

// long reads a long bracket, [[…]] or [=[…]=], at pos; ok is false if there is none.
func (l *lexer) long() (text string, ok bool) {
	if l.at(0) != '[' {
		return "", false
	}
	level := 0
	for l.at(1+level) == '=' {
		level++
	}
	if l.at(1+level) != '[' {
		return "", false
	}
	rest := l.src[l.pos+level+2:]
	end := strings.Index(rest, "]"+strings.Repeat("=", level)+"]")
	if end < 0 {
		l.fail("unfinished long string or comment")
	}
	text = rest[:end]
	l.line += int32(strings.Count(text, "\n"))
	l.pos += 2*(level+2) + end
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimPrefix(text, "\n"), true
}

// next returns the next token.
func (l *lexer) next() token {
	l.blank()
	t := token{kind: tokenEnd, line: l.line}
	if l.pos >= len(l.src) {
		return t
	}
	c := l.src[l.pos]
	switch {
	case isLetter(c):
		start := l.pos
		for isLetter(l.at(0)) || isDigit(l.at(0)) {
			l.pos++
		}
		t.kind, t.text = tokenName, l.src[start:l.pos]
		if isKeyword(t.text) {
			t.kind = t.text
		}
	case isDigit(c) || c == '.' && isDigit(l.at(1)):
		t.kind, t.num = tokenNumber, l.number()
	case c == '"' || c == '\'':
		t.kind, t.text = tokenString, l.quoted(c)
	default:
		if c == '[' {
			if text, ok := l.long(); ok {
				t.kind, t.text = tokenString, text
				return t
			}
		}
		t.kind = l.operator()
	}
	return t
}

// operator reads an operator or mark.
func (l *lexer) operator() string {
	for _, op := range []string{"...", "..", "==", "~=", "<=", ">="} {
		if strings.HasPrefix(l.src[l.pos:], op) {
			l.pos += len(op)
			return op
		}
	}
	if strings.IndexByte("+-*/%^#<>=(){}[];:,.", l.src[l.pos]) < 0 {
		l.fail("unexpected symbol %q", l.src[l.pos])
	}
	l.pos++
	return l.src[l.pos-1 : l.pos]
}

// number reads a number.
func (l *lexer) number() float64 {
	start := l.pos
	if l.at(0) == '0' && (l.at(1) == 'x' || l.at(1) == 'X') {
		l.pos += 2
		for isHex(l.at(0)) {
			l.pos++
		}
	} else {
		for isDigit(l.at(0)) || l.at(0) == '.' {
			l.pos++
		}
		if c := l.at(0); c == 'e' || c == 'E' {
			if l.pos++; l.at(0) == '+' || l.at(0) == '-' {
				l.pos++
			}
			for isDigit(l.at(0)) {
				l.pos++
			}
		}
	}
	n, ok := parseNumber(l.src[start:l.pos])
	if !ok || isLetter(l.at(0)) {
		l.fail("malformed number near %q", l.src[start:l.pos])
	}
	return n
}

// quoted reads a string in quotation marks.
func (l *lexer) quoted(quote byte) string {
	l.pos++
	if k := strings.IndexByte(l.src[l.pos:], quote); k >= 0 && !strings.ContainsAny(l.src[l.pos:l.pos+k], "\\\n") {
		l.pos += k + 1
		return l.src[l.pos-k-1 : l.pos-1]
	}
	var out []byte
	for {
		c := l.at(0)
		switch {
		case l.pos >= len(l.src) || c == '\n':
			l.fail("unfinished string")
		case c == quote:
			l.pos++
			return string(out)
		case c == '\\':
			l.pos++
			out = l.escape(out)
		default:
			out = append(out, c)
			l.pos++
		}
	}
}

// escape reads what follows a backslash.
func (l *lexer) escape(out []byte) []byte {
	c := l.at(0)
	if isDigit(c) {
		n := 0
		for k := 0; k < 3 && isDigit(l.at(0)); k++ {
			n = 10*n + int(l.at(0)-'0')
			l.pos++
		}
		if n > 255 {
			l.fail("escape sequence too large")
		}
		return append(out, byte(n))
	}
	if l.pos < len(l.src) {
		l.pos++
	}
	if c == '\n' {
		l.line++
	}
	if k := strings.IndexByte("abfnrtv", c); k >= 0 {
		c = "\a\b\f\n\r\t\v"[k]
	}
	return append(out, c)
}
