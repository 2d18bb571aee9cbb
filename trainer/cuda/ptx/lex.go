package ptx

import (
	"fmt"
	"strings"
)

// A token is a word (directive, mnemonic, register, number, quoted string) or a
// single character of punctuation.
type token struct {
	text string
	line int
}

const punctuation = "(){}[],;:@|<>=!"

// word reports whether a byte may stand in a word. A + and a - do: an offset is
// read from the word it belongs to.
func word(c byte) bool {
	return c > ' ' && c < 0x7f && c != '"' && strings.IndexByte(punctuation, c) < 0
}

// lex cuts text into tokens and drops comments.
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
				return nil, fmt.Errorf("line %d: string without an end", line)
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
			return nil, fmt.Errorf("line %d: byte %#02x", line, c)
		}
	}
	return tokens, nil
}
