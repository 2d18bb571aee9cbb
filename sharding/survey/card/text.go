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
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding/examples"
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
	Values              string // number of values in a record
}

// form returns the form of the records. If they have several forms, it returns "", the
// form of pairs.
func form(r *survey.RecordStats) (f records.Form) {
	if len(r.Forms) == 1 {
		return r.Forms[0]
	}
	return f
}

// features returns the features of a record; see docs/file-format.md. It returns nil for
// formats that define their own columns.
func features(r *survey.RecordStats) (all []feature) {
	format, converted := formats.Get(r.Format)
	if converted && format.About().OwnColumns {
		return nil
	}
	form := form(r)
	table := columns.NewTable(columns.Spec{Form: form, Seq: r.MaxSeqLength, Predictions: r.MaxPredictionsPerSeq, Int: columns.Int64})
	if converted {
		if t, err := examples.Table(*r.Converted); err == nil { // always, since its rows were read
			table = t
		}
	}
	for i, c := range table.Schema {
		f := feature{Name: c.Name, Type: c.Type.String(), Meaning: table.Meaning(i), Values: strconv.Itoa(c.Len)}
		if c.Type == columns.Float32 {
			f.Type = "float"
		}
		switch {
		case c.Len == 0 && form.Varies():
			f.Values = "any"
		case c.Len == 0:
			f.Values = "pieces"
		}
		all = append(all, f)
	}
	return all
}

// ragged reports whether the number of values of a feature differs between records.
func ragged(f records.Form, l records.List) bool { return f.Len(l, 1, 1) == 0 }

// parser returns Python code that defines the specification for parsing a record. For
// forms with masks, the code also defines the maximum lengths S and P.
func parser(r *survey.RecordStats) string {
	form := form(r)
	if form.Masks() {
		label := ""
		if form.Pairs() {
			label = `, "next_sentence_labels": 1`
		}
		return fmt.Sprintf(`S, P = %d, %d
spec = {name: tf.io.FixedLenFeature([n], tf.float32 if name == "masked_lm_weights" else tf.int64) for name, n in {
    "input_ids": S, "input_mask": S, "segment_ids": S, "masked_lm_positions": P, "masked_lm_ids": P,
    "masked_lm_weights": P%s}.items()}`, r.MaxSeqLength, r.MaxPredictionsPerSeq, label)
	}
	var lists []string
	for _, l := range form.Lists() {
		feature := fmt.Sprintf("FixedLenFeature([%d], tf.int64)", form.Len(l, r.MaxSeqLength, 0))
		if ragged(form, l) {
			feature = "RaggedFeature(tf.int64)"
		}
		lists = append(lists, fmt.Sprintf(`"%s": tf.io.%s`, l.Name(), feature))
	}
	return "spec = {" + strings.Join(lists, ", ") + "}"
}

var safeWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._/:,=@%+-]+$`) })

// ShellWord quotes a word for a POSIX shell, if quoting is necessary.
func ShellWord(s string) string {
	if safeWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
