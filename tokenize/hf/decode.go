package hf

import (
	"strconv"
	"strings"
)

// spaceMark represents a space in SentencePiece vocabularies.
const spaceMark = "\u2581"

// Decode returns the text of ids, without padding, [CLS] and [SEP]. It joins tokens as is
// usual for the type of model, and ignores the decoder in the file:
//
//   - byte-level BPE: the bytes of all tokens, with U+FFFD for bytes that are not UTF-8
//   - WordPiece: words with a space between them
//   - other BPE and Unigram: U+2581 and the suffix of words become spaces; tokens such
//     as <0x0A> are bytes
//   - WordLevel: tokens with a space between them
func (t *Tokenizer) Decode(ids []int32) string {
	var tokens []string
	for _, id := range ids {
		if s := t.specials; id != s.Pad && id != s.CLS && id != s.SEP {
			tokens = append(tokens, t.tokens[id])
		}
	}
	switch m := t.model.(type) {
	case *wordPiece:
		return joinPieces(tokens, m.prefix)
	case *bpe:
		if m.raw != nil {
			return joinBytes(tokens)
		}
		return joinSpaced(tokens, m.suffix)
	case *unigram:
		return joinSpaced(tokens, "")
	}
	return strings.Join(tokens, " ")
}

// joinPieces joins tokens of WordPiece. Tokens with the prefix continue a word.
func joinPieces(tokens []string, prefix string) string {
	var b strings.Builder
	for _, token := range tokens {
		rest, continues := strings.CutPrefix(token, prefix)
		if continues = continues && prefix != ""; !continues {
			rest = token
		}
		if !continues && b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(rest)
	}
	return b.String()
}

// joinBytes joins tokens of byte-level BPE. A token with characters that do not represent
// bytes is an added token, and is used as text.
func joinBytes(tokens []string) string {
	var b []byte
	for _, token := range tokens {
		isText := func(r rune) bool {
			_, ok := byteOf(r)
			return !ok
		}
		if !strings.ContainsFunc(token, isText) {
			token = RawBytes(token)
		}
		b = append(b, token...)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// joinSpaced joins tokens. spaceMark anywhere in a token, and suffix at its end, represent
// a space.
func joinSpaced(tokens []string, suffix string) string {
	var b []byte
	for _, token := range tokens {
		if value, ok := hexByte(token); ok {
			b = append(b, value)
			continue
		}
		if word, ends := strings.CutSuffix(token, suffix); ends && suffix != "" {
			token = word + " "
		}
		b = append(b, strings.ReplaceAll(token, spaceMark, " ")...)
	}
	return strings.Trim(strings.ToValidUTF8(string(b), "\ufffd"), " ")
}

// hexByte returns the byte of a token such as <0x0A>.
func hexByte(token string) (byte, bool) {
	if len(token) != len("<0x00>") || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	n, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(n), err == nil
}
