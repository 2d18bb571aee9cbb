package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/records"
	"pretext/tokenize"
	"pretext/trainer/loader"
)

// headOptions are the flags of head.
type headOptions struct {
	examples    int
	vocab       string
	plain, json bool
	color       colorMode
}

func newHead() *cobra.Command {
	o := headOptions{examples: 3, color: "auto"}
	cmd := &cobra.Command{
		Use:   "head PATH",
		Short: "Show examples with their tokens, text, segments and masks",
		Long: `Shows the first examples of a run, a folder of shards or a file of records, each
with its tokens and, in quotes, their text without masks. A masked token is written
[MASK→original], one replaced by another word [word→original], one to be predicted
but left as it is [word]; segment B is marked. Of a text without segments at most
512 tokens are shown; pieces of packed rows are numbered.
With --json each example is a JSON object on one line: all values under the names
of their features, the words as "tokens" and "masked_lm_tokens", and as "texts" the
text of each segment or piece.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	fs := cmd.Flags()
	fs.IntVarP(&o.examples, "examples", "n", o.examples, "number of examples to show; 0: all")
	fs.StringVar(&o.vocab, "vocab", "", "vocabulary (vocab.txt); default: the one in the records' directory; without one, ids are shown")
	fs.BoolVar(&o.plain, "plain", false, "no colors")
	fs.Lookup("plain").Hidden = true // the former name of --color never
	fs.Var(&o.color, "color", "colors: auto (on a terminal, unless NO_COLOR is set), always or never")
	fs.BoolVar(&o.json, "json", false, "write each example as JSON, one per line")
	return cmd
}

// run shows the first examples at a path.
func (o *headOptions) run(cmd *cobra.Command, path string) error {
	if o.examples < 0 {
		return usagef("-n %d: must be at least 1, or 0 for all", o.examples)
	}
	shards, err := openShards(cmd, path, loader.Options{First: o.examples})
	if err != nil {
		return err
	}
	tokens, err := headTokens(cmd, shards, o.vocab)
	if err != nil {
		return err
	}
	if o.plain {
		o.color = "never"
	}
	p := examplePrinter{w: bufio.NewWriter(cmd.OutOrStdout()), tokens: tokens, color: o.color.colors(cmd.OutOrStdout(), os.Getenv)}
	show := p.print
	if o.json {
		show = p.printJSON
	}
	shown := 0
	for r, err := range shards.Examples(cmd.Context()) {
		if err != nil {
			return err
		}
		if err := show(r); err != nil {
			return err
		}
		if shown++; shown == o.examples {
			break
		}
	}
	return p.w.Flush()
}

// An examplePrinter writes examples as readable text.
type examplePrinter struct {
	w      *bufio.Writer
	tokens tokenNames // nil: ids are shown
	color  bool
}

func (p *examplePrinter) token(id int32) string {
	if p.tokens == nil || id < 0 || int(id) >= p.tokens.Len() {
		return fmt.Sprint(id)
	}
	return cli.OneLine(p.tokens.Token(id))
}

func (p *examplePrinter) paint(code, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *examplePrinter) print(r loader.Record) error {
	e := r.Example
	if e.NextSentenceLabel == records.NoLabel {
		return p.printText(r)
	}
	next := "B follows A"
	if e.NextSentenceLabel == 1 {
		next = "B is random"
	}
	fmt.Fprintf(p.w, "%s record %d: %d of %d tokens, %d masked, %s\n", cli.OneLine(r.File), r.Index, e.Tokens(), len(e.InputIDs), e.Predictions(), next)
	for i, s := range parts(e) {
		p.words(string(rune('A'+i)), e, s.from, s.to)
		fmt.Fprintln(p.w)
		p.decoded(e, s.from, s.to)
	}
	_, err := fmt.Fprintln(p.w)
	return err
}

// A jsonExample is the JSON form of an example, with the feature names of the original
// BERT release. If the vocabulary is known, the JSON also has the tokens.
type jsonExample struct {
	File               string    `json:"file"`
	Record             int64     `json:"record"`
	InputIDs           []int32   `json:"input_ids"`
	InputMask          []int32   `json:"input_mask"`
	SegmentIDs         []int32   `json:"segment_ids"`
	MaskedLMPositions  []int32   `json:"masked_lm_positions"`
	MaskedLMIDs        []int32   `json:"masked_lm_ids"`
	MaskedLMWeights    []float32 `json:"masked_lm_weights"`
	NextSentenceLabels []int32   `json:"next_sentence_labels"`
	words
}

// jsonFormed is the JSON form of an example that is not a segment pair, such as a packed
// row. It omits the features that such examples do not have.
type jsonFormed struct {
	File              string    `json:"file"`
	Record            int64     `json:"record"`
	InputIDs          []int32   `json:"input_ids"`
	InputMask         []int32   `json:"input_mask,omitempty"`
	SegmentIDs        []int32   `json:"segment_ids,omitempty"`
	MaskedLMPositions []int32   `json:"masked_lm_positions,omitempty"`
	MaskedLMIDs       []int32   `json:"masked_lm_ids,omitempty"`
	MaskedLMWeights   []float32 `json:"masked_lm_weights,omitempty"`
	SequenceLengths   []int32   `json:"sequence_lengths,omitempty"`
	SentenceLengths   []int32   `json:"sentence_lengths,omitempty"`
	words
}

// words has the tokens and the text of an example.
type words struct {
	Tokens   []string `json:"tokens,omitempty"`           // without padding
	Original []string `json:"masked_lm_tokens,omitempty"` // without padding
	Texts    []string `json:"texts,omitempty"`            // of each segment or piece
}

// printJSON writes an example as one line of JSON: its features, and, if the vocabulary
// is known, its tokens and the original tokens of masked positions.
func (p *examplePrinter) printJSON(r loader.Record) error {
	e := r.Example
	var w words
	if p.tokens != nil {
		for _, id := range e.InputIDs[:e.Tokens()] {
			w.Tokens = append(w.Tokens, p.token(id))
		}
		for _, id := range e.MaskedLMIDs[:e.Predictions()] {
			w.Original = append(w.Original, p.token(id))
		}
		for _, s := range parts(e) {
			if text, ok := p.decode(e, s.from, s.to); ok {
				w.Texts = append(w.Texts, text)
			}
		}
	}
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	if e.NextSentenceLabel != records.NoLabel {
		return enc.Encode(jsonExample{r.File, r.Index, e.InputIDs, e.InputMask, e.SegmentIDs, e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights, []int32{e.NextSentenceLabel}, w})
	}
	return enc.Encode(jsonFormed{r.File, r.Index, e.InputIDs, e.InputMask, e.SegmentIDs, e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights, e.SequenceLengths, e.SentenceLengths, w})
}

// shownTokens is the maximum number of tokens shown of one text.
const shownTokens = 512

// printText prints an example that is not a pair, such as a packed row, as text.
func (p *examplePrinter) printText(r loader.Record) error {
	e := r.Example
	n := e.Tokens()
	switch {
	case len(e.SequenceLengths) > 0:
		fmt.Fprintf(p.w, "%s record %d: %d of %d tokens, %s\n", cli.OneLine(r.File), r.Index, n, len(e.InputIDs), humanize.Things(int64(len(e.SequenceLengths)), "piece"))
		for i, s := range parts(e) {
			p.text(fmt.Sprintf("piece %d", i+1), e, s.from, s.to)
		}
	case len(e.InputMask) > 0:
		fmt.Fprintf(p.w, "%s record %d: %d of %d tokens, %d masked\n", cli.OneLine(r.File), r.Index, n, len(e.InputIDs), e.Predictions())
		p.text("text", e, 0, n)
	default:
		fmt.Fprintf(p.w, "%s record %d: %s\n", cli.OneLine(r.File), r.Index, humanize.Things(int64(n), "token"))
		p.text("text", e, 0, n)
	}
	_, err := fmt.Fprintln(p.w)
	return err
}

// A span is the tokens [from, to) of an example.
type span struct{ from, to int }

// parts returns the parts of an example, without padding: the segments of a pair, the
// pieces of a packed row, or the whole text.
func parts(e *records.Example) (spans []span) {
	n := e.Tokens()
	switch {
	case e.NextSentenceLabel != records.NoLabel:
		b := 0
		for b < n && e.SegmentIDs[b] != 1 {
			b++
		}
		end := b
		for end < n && e.SegmentIDs[end] == 1 {
			end++
		}
		return []span{{0, b}, {b, end}}
	case len(e.SequenceLengths) > 0:
		from := 0
		for _, size := range e.SequenceLengths {
			spans = append(spans, span{from, from + int(size)})
			from += int(size)
		}
		return spans
	}
	return []span{{0, n}}
}

// text writes the tokens in [from, end) of an example, but no more than
// shownTokens.
func (p *examplePrinter) text(name string, e *records.Example, from, end int) {
	shown := min(end, from+shownTokens)
	p.words(name, e, from, shown)
	if shown < end {
		fmt.Fprintf(p.w, " … and %d more", end-shown)
	}
	fmt.Fprintln(p.w)
	p.decoded(e, from, shown)
}

// decoded writes the text of the tokens in [from, to) of an example, if there is a
// vocabulary.
func (p *examplePrinter) decoded(e *records.Example, from, to int) {
	if text, ok := p.decode(e, from, to); ok && text != "" {
		fmt.Fprintf(p.w, "    %q\n", text)
	}
}

// decode returns the text of the tokens in [from, to) of an example, without its
// masks. ok is false if an id is not in the vocabulary, or there is none.
func (p *examplePrinter) decode(e *records.Example, from, to int) (text string, ok bool) {
	if p.tokens == nil {
		return "", false
	}
	ids := slices.Clone(e.InputIDs[from:to])
	for i, at := range e.MaskedLMPositions[:e.Predictions()] {
		if at := int(at); at >= from && at < to {
			ids[at-from] = e.MaskedLMIDs[i]
		}
	}
	for _, id := range ids {
		if id < 0 || int(id) >= p.tokens.Len() {
			return "", false
		}
	}
	return p.tokens.Decode(ids), true
}

// words writes the tokens in [from, end) of an example, with its masks.
func (p *examplePrinter) words(name string, e *records.Example, from, end int) {
	fmt.Fprintf(p.w, "  %s:", p.paint("1", name))
	next := 0
	for i := from; i < end; i++ {
		for next < e.Predictions() && int(e.MaskedLMPositions[next]) < i {
			next++
		}
		word := p.token(e.InputIDs[i])
		if next < e.Predictions() && int(e.MaskedLMPositions[next]) == i {
			word = p.paint("33", masked(word, p.token(e.MaskedLMIDs[next])))
		}
		fmt.Fprintf(p.w, " %s", word)
	}
}

func masked(shown, original string) string {
	switch shown {
	case tokenize.MaskToken, "<mask>":
		return "[MASK→" + original + "]"
	case original:
		return "[" + original + "]"
	}
	return "[" + shown + "→" + original + "]"
}
