package ptx

import (
	"fmt"
	"strings"
)

// A token is a word (directive, opcode, register, number, quoted string) or a
// single character of punctuation.
type token struct {
	text string
	line int
}

const punctuation = "(){}[],;:@|<>=!"

// word reports whether c may be part of a word. This includes + and -, so that an
// address with an offset such as %rd1+8 is one word.
func word(c byte) bool {
	return c > ' ' && c < 0x7f && c != '"' && strings.IndexByte(punctuation, c) < 0
}

// lex splits text into tokens and drops comments.
func lex(text string) ([]token, error) {
	var tokens []token
	line := 1
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(text[i:], "//"):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '"':
			end := strings.IndexAny(text[i+1:], "\"\n")
			if end < 0 || text[i+1+end] != '"' {
				return nil, fmt.Errorf("line %d: string has no closing quote", line)
			}
			tokens = append(tokens, token{text[i : i+end+2], line})
			i += end + 2
		case strings.IndexByte(punctuation, c) >= 0:
			tokens = append(tokens, token{text[i : i+1], line})
			i++
		case word(c):
			start := i
			for i < len(text) && word(text[i]) && !strings.HasPrefix(text[i:], "//") {
				i++
			}
			tokens = append(tokens, token{text[start:i], line})
		default:
			return nil, fmt.Errorf("line %d: unexpected byte %#02x", line, c)
		}
	}
	return tokens, nil
}
