package card

import (
	"reflect"
	"regexp"
	"strings"

	"pretext/internal/humanize"
	"pretext/sharding/survey"
)

// text escapes s for a Markdown table: characters that would be markup are
// escaped, and line ends become spaces.
func text(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>()#+-!|&~", r) && r != '-' && r != '(' && r != ')':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code escapes s for use between backticks in a Markdown table.
func code(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '`' {
			return '\''
		}
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return "`" + strings.ReplaceAll(s, "|", "\\|") + "`"
}

// things returns a count (an int or int64) with its noun, such as "3 files".
func things(n any, noun string) string {
	return humanize.Things(reflect.ValueOf(n).Int(), noun)
}

// A feature is a line of the card's table of record features.
type feature struct {
	Name, Type, Meaning string
	Values              int
}

// features returns the features of a record; see docs/format.md.
func features(r *survey.RecordStats) []feature {
	s, p := r.MaxSeqLength, r.MaxPredictionsPerSeq
	return []feature{
		{"input_ids", "int64", "[CLS] A [SEP] B [SEP] with masks, then padding", s},
		{"input_mask", "int64", "1 for each token, 0 for padding", s},
		{"segment_ids", "int64", "0 for A, 1 for B", s},
		{"masked_lm_positions", "int64", "ascending places to predict, then 0", p},
		{"masked_lm_ids", "int64", "the ids that stood there, then 0", p},
		{"masked_lm_weights", "float", "1 for each prediction, then 0", p},
		{"next_sentence_labels", "int64", "0: B follows A; 1: B is from elsewhere", 1},
	}
}

var safeWord = regexp.MustCompile(`^[A-Za-z0-9._/:,=@%+-]+$`)

// ShellWord quotes a word for a POSIX shell, if it needs to be.
func ShellWord(s string) string {
	if safeWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
