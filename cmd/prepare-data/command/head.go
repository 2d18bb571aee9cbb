package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pretext/internal/humanize"
	"pretext/records"
	"pretext/tokenize"
	"pretext/trainer/loader"
)

func newHead() *cobra.Command {
	n := 3
	var vocabPath string
	var plain, asJSON bool
	color := colorMode("auto")
	cmd := &cobra.Command{
		Use:   "head PATH",
		Short: "Show examples with their tokens, segments and masks",
		Long: `Shows the first examples of a run, a folder of shards or a file of records. A
masked token is written [MASK→original], one replaced by another word
[word→original], one to be predicted but left as it is [word]; segment B is marked.
Of a text without segments at most 512 tokens are shown; pieces of packed rows are
numbered.
With --json each example is a JSON object on one line: all values under the names
of their features, and the words as "tokens" and "masked_lm_tokens".`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n <= 0 {
				return usagef("-n %d: must be at least 1", n)
			}
			shards, err := openShards(cmd, args[0])
			if err != nil {
				return err
			}
			tokens, err := headTokens(cmd, shards, vocabPath)
			if err != nil {
				return err
			}
			if plain {
				color = "never"
			}
			p := examplePrinter{w: bufio.NewWriter(cmd.OutOrStdout()), tokens: tokens, color: color.colors(cmd.OutOrStdout(), os.Getenv)}
			show := p.print
			if asJSON {
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
				if shown++; shown == n {
					break
				}
			}
			return p.w.Flush()
		},
	}
	cmd.Flags().IntVarP(&n, "examples", "n", n, "number of examples to show")
	cmd.Flags().StringVar(&vocabPath, "vocab", "", "vocabulary (vocab.txt); default: the one in the records' directory; without one, ids are shown")
	cmd.Flags().BoolVar(&plain, "plain", false, "no colors")
	cmd.Flags().Lookup("plain").Hidden = true // what --color never was called
	cmd.Flags().Var(&color, "color", "colors: auto (on a terminal, unless NO_COLOR is set), always or never")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write each example as JSON, one per line")
	return cmd
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
	return p.tokens.Token(id)
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
	fmt.Fprintf(p.w, "%s record %d: %d of %d tokens, %d masked, %s\n", r.File, r.Index, e.Tokens(), len(e.InputIDs), e.Predictions(), next)
	p.segment("A", e, 0)
	p.segment("B", e, 1)
	_, err := fmt.Fprintln(p.w)
	return err
}

// printJSON writes an example as one line of JSON: its features, and, if the vocabulary
// is known, its tokens and the original tokens of masked positions.
func (p *examplePrinter) printJSON(r loader.Record) error {
	e := r.Example
	type words struct {
		Tokens   []string `json:"tokens,omitempty"`           // without padding
		Original []string `json:"masked_lm_tokens,omitempty"` // without padding
	}
	var w words
	if p.tokens != nil {
		for _, id := range e.InputIDs[:e.Tokens()] {
			w.Tokens = append(w.Tokens, p.token(id))
		}
		for _, id := range e.MaskedLMIDs[:e.Predictions()] {
			w.Original = append(w.Original, p.token(id))
		}
	}
	enc := json.NewEncoder(p.w)
	enc.SetEscapeHTML(false)
	switch all := asJSON(r).(type) {
	case jsonFormed:
		return enc.Encode(struct {
			jsonFormed
			words
		}{all, w})
	default:
		return enc.Encode(struct {
			jsonExample
			words
		}{newJSONExample(r), w})
	}
}

// shownTokens is the maximum number of tokens of a text that is shown.
const shownTokens = 512

// printText prints an example of another form than the original's.
func (p *examplePrinter) printText(r loader.Record) error {
	e := r.Example
	n := e.Tokens()
	switch {
	case len(e.SequenceLengths) > 0:
		fmt.Fprintf(p.w, "%s record %d: %d of %d tokens, %s\n", r.File, r.Index, n, len(e.InputIDs), humanize.Things(int64(len(e.SequenceLengths)), "piece"))
		from := 0
		for i, size := range e.SequenceLengths {
			p.text(fmt.Sprintf("piece %d", i+1), e, from, from+int(size))
			from += int(size)
		}
	case len(e.InputMask) > 0:
		fmt.Fprintf(p.w, "%s record %d: %d of %d tokens, %d masked\n", r.File, r.Index, n, len(e.InputIDs), e.Predictions())
		p.text("text", e, 0, n)
	default:
		fmt.Fprintf(p.w, "%s record %d: %s\n", r.File, r.Index, humanize.Things(int64(n), "token"))
		p.text("text", e, 0, n)
	}
	_, err := fmt.Fprintln(p.w)
	return err
}

// segmentStart returns the index of the first token of segment B.
func segmentStart(e *records.Example) int {
	for i := range e.Tokens() {
		if e.SegmentIDs[i] == 1 {
			return i
		}
	}
	return e.Tokens()
}

func (p *examplePrinter) segment(name string, e *records.Example, segment int32) {
	from := 0
	if segment == 1 {
		from = segmentStart(e)
	}
	end := from
	for end < e.Tokens() && e.SegmentIDs[end] == segment {
		end++
	}
	p.words(name, e, from, end)
	fmt.Fprintln(p.w)
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
