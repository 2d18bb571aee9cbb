package card

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"pretext/internal/humanize"
	"pretext/records"
	"pretext/records/columns/formats"
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
	Values              string // their number
}

// form returns the form of all records, or Pairs if they have several.
func form(r *survey.RecordStats) records.Form {
	if len(r.Forms) == 1 {
		return r.Forms[0]
	}
	return records.Pairs
}

// features returns the features of a record; see docs/file-format.md. It returns nil for
// formats with columns of their own.
func features(r *survey.RecordStats) []feature {
	all := recordFeatures(r)
	if r.Format == "" {
		return all
	}
	if format, ok := formats.Get(r.Format); ok && format.About().OwnColumns {
		return nil
	}
	for i := range all {
		all[i].Type = strings.Replace(all[i].Type, "int64", "int32", 1)
	}
	return all
}

// recordFeatures returns the features of a TFRecord.
func recordFeatures(r *survey.RecordStats) []feature {
	s, p := strconv.Itoa(r.MaxSeqLength), strconv.Itoa(r.MaxPredictionsPerSeq)
	all := []feature{
		{"input_ids", "int64", "[CLS] A [SEP] B [SEP] with masks, then padding", s},
		{"input_mask", "int64", "1 for each token, 0 for padding", s},
		{"segment_ids", "int64", "0 for A, 1 for B", s},
		{"masked_lm_positions", "int64", "ascending places to predict, then 0", p},
		{"masked_lm_ids", "int64", "the ids that stood there, then 0", p},
		{"masked_lm_weights", "float", "1 for each prediction, then 0", p},
		{"next_sentence_labels", "int64", "0: B follows A; 1: B is from elsewhere", "1"},
	}
	switch form(r) {
	case records.Masked:
		all[0].Meaning, all[2].Meaning = "[CLS] text [SEP] with masks, then padding", "0"
		return all[:6]
	case records.Tokens:
		return []feature{{"input_ids", "int64", "the ids of a document, without special tokens", "any"}}
	case records.Packed:
		return []feature{{"input_ids", "int64", "pieces, each [CLS] text [SEP], then padding", s},
			{"sequence_lengths", "int64", "the number of tokens of each piece", "pieces"}}
	}
	return all
}

// parser returns the lines of Python that say how to parse a record, with the
// names S and P.
func parser(r *survey.RecordStats) string {
	sizes := fmt.Sprintf("S, P = %d, %d\n", r.MaxSeqLength, r.MaxPredictionsPerSeq)
	lists := `spec = {name: tf.io.FixedLenFeature([n], tf.float32 if name == "masked_lm_weights" else tf.int64) for name, n in {
    "input_ids": S, "input_mask": S, "segment_ids": S, "masked_lm_positions": P, "masked_lm_ids": P,
    "masked_lm_weights": P`
	switch form(r) {
	case records.Masked:
		return sizes + lists + "}.items()}"
	case records.Tokens:
		return `spec = {"input_ids": tf.io.RaggedFeature(tf.int64)}`
	case records.Packed:
		return fmt.Sprintf(`spec = {"input_ids": tf.io.FixedLenFeature([%d], tf.int64), "sequence_lengths": tf.io.RaggedFeature(tf.int64)}`, r.MaxSeqLength)
	}
	return sizes + lists + `, "next_sentence_labels": 1}.items()}`
}

var safeWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/:,=@%+-]+$`) })

// ShellWord quotes a word for a POSIX shell, if it needs to be.
func ShellWord(s string) string {
	if safeWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
