package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"pretext/cmd/internal/cli"
	"pretext/pipeline"
	"pretext/records"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/hf"
	"pretext/trainer/loader"
)

func newVerify() *cobra.Command {
	var asJSON bool
	o := pipeline.VerifyOptions{Workers: runtime.GOMAXPROCS(0), MaxProblems: 100}
	memory := byteSize(64e6)
	cmd := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check every byte and every record of a run, a folder or a file of records",
		Long: `Checks everything at PATH: a run, a stage's folder, a folder of TFRecord files of
anyone's or one such file. Every byte is held against the manifest; every document
and every record against the rules of its format and the options it was made
with; side-cars, indices and plans against the files they speak of; the folders
of a run against each other. What is missing, foreign, swapped, cut or changed is
named with file, record and byte.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.Workers < 1:
				return usagef("--workers %d: must be at least 1", o.Workers)
			case o.MaxProblems < 1:
				return usagef("--max-problems %d: must be at least 1", o.MaxProblems)
			}
			o.Memory = int64(memory)
			return verify(cmd, args, o, asJSON)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&asJSON, "json", false, "write the result as JSON")
	fs.IntVar(&o.Workers, "workers", o.Workers, "files checked at a time")
	fs.IntVar(&o.MaxProblems, "max-problems", o.MaxProblems, "problems to list; all are counted")
	fs.Var(&memory, "memory", "memory for finding repeated records; what does not fit goes to a temporary file")
	return cmd
}

// verify checks all paths and reports; what is wrong with any is an error.
func verify(cmd *cobra.Command, paths []string, o pipeline.VerifyOptions, asJSON bool) error {
	problems, first := 0, ""
	for _, path := range paths {
		v, err := pipeline.Verify(cmd.Context(), path, o)
		if err != nil {
			return err
		}
		if problems += v.Found; problems > 0 && first == "" {
			first = path
		}
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), v); err != nil {
				return err
			}
			continue
		}
		for _, p := range v.Problems {
			fmt.Fprintln(cmd.OutOrStdout(), p)
		}
		switch more := v.Found - len(v.Problems); {
		case v.OK():
			fmt.Fprintf(cmd.OutOrStdout(), "%s: ok, %d files, %s, %d documents, %d records\n", path, v.Files, size(v.Bytes), v.Documents, v.Records)
		case more > 0:
			fmt.Fprintf(cmd.OutOrStdout(), "%s: and %d more problems (--max-problems lists more)\n", path, more)
		}
		if v.Repeated > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: note: %d records stand in another file too\n", path, v.Repeated)
		}
	}
	if problems > 0 {
		return fmt.Errorf("%w: %s: %d problems", pipeline.ErrDamaged, first, problems)
	}
	return nil
}

func newInspect() *cobra.Command {
	var asJSON, values, each bool
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Say what is in a run, a folder or a file of records",
		Long: `Says what is in a run, a stage's folder or a file of records, from its manifest
and, for a bare file, from its records. With --values all records are read and
the values of each feature are counted and summed. With --records every example
is written as a JSON object a line, all values under the names of its features.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if each {
				return inspectRecords(cmd, args[0])
			}
			all, err := pipeline.Inspect(cmd.Context(), args[0], values)
			if err != nil {
				return err
			}
			if asJSON {
				if len(all) == 1 {
					return printJSON(cmd.OutOrStdout(), all[0])
				}
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printInspections(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	cmd.Flags().BoolVar(&values, "values", false, "read all records and sum up their features")
	cmd.Flags().BoolVar(&each, "records", false, "write every example as JSON, one a line")
	return cmd
}

// jsonExample is an example under the names of its features.
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
}

func inspectRecords(cmd *cobra.Command, path string) error {
	w := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	enc := json.NewEncoder(w)
	shards, err := openShards(cmd, path)
	if err != nil {
		return err
	}
	for r, err := range shards.Examples(cmd.Context()) {
		if err == nil {
			e := r.Example
			err = enc.Encode(jsonExample{r.File, r.Index, e.InputIDs, e.InputMask, e.SegmentIDs, e.MaskedLMPositions,
				e.MaskedLMIDs, e.MaskedLMWeights, []int32{e.NextSentenceLabel}})
		}
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

func printInspections(w io.Writer, all []pipeline.Inspection) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, in := range all {
		fmt.Fprintf(t, "%s\t%s\t\n", in.Path, in.Stage)
		if in.Fingerprint != "" {
			fmt.Fprintf(t, "  fingerprint\t%.16s\t\n", in.Fingerprint)
		}
		for _, i := range in.Inputs {
			fmt.Fprintf(t, "  input %s\t%s\t%.16s\n", i.Name, size(i.Bytes), i.SHA256)
		}
		for _, line := range (pipeline.StageSummary{Counts: in.Counts}).Lines() {
			fmt.Fprintf(t, "  %s\t%d\t\n", line.Name, line.Count)
		}
		printDropped(t, in.Dropped)
		for _, f := range in.Files {
			fmt.Fprintf(t, "  %s\t%s\t%d records %s\n", f.Name, size(f.Bytes), f.Records, f.Compression)
		}
		for _, f := range in.Features {
			fmt.Fprintf(t, "  %s\t%s[%d..%d]\t%d records, sum %.0f\n", f.Name, f.Kind, f.Least, f.Most, f.Records, f.Sum)
		}
	}
	return t.Flush()
}

// droppedShown is how many templates a person is shown; --json names all.
const droppedShown = 10

// printDropped shows the templates without text.
func printDropped(w io.Writer, d *sharding.DroppedTemplates) {
	if d == nil {
		return
	}
	for _, t := range d.Templates[:min(len(d.Templates), droppedShown)] {
		fmt.Fprintf(w, "  dropped {{%s}}\t%d\t\n", cli.OneLine(t.Name), t.Uses)
	}
	if more := len(d.Templates) - droppedShown; more > 0 {
		fmt.Fprintf(w, "  dropped templates\t%d more\tsee --json\n", more)
	}
	if d.Slack > 0 {
		fmt.Fprintf(w, "  dropped templates\tcounts may be too small by up to %d\t\n", d.Slack)
	}
}

func newHead() *cobra.Command {
	n := 3
	var vocabPath string
	var plain bool
	cmd := &cobra.Command{
		Use:   "head PATH",
		Short: "Show examples with their tokens, segments and masks",
		Long: `Shows the first examples of a run, a folder of shards or a file of records. A
masked token is written [MASK→original], one replaced by another word
[word→original], one to be predicted but left as it is [word]; segment B is marked.`,
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
			f, isFile := cmd.OutOrStdout().(*os.File)
			p := examplePrinter{w: bufio.NewWriter(cmd.OutOrStdout()), tokens: tokens, colour: !plain && isFile && term.IsTerminal(int(f.Fd()))}
			shown := 0
			for r, err := range shards.Examples(cmd.Context()) {
				if err != nil {
					return err
				}
				p.print(r)
				if shown++; shown == n {
					break
				}
			}
			return p.w.Flush()
		},
	}
	cmd.Flags().IntVarP(&n, "examples", "n", n, "how many")
	cmd.Flags().StringVar(&vocabPath, "vocab", "", "vocab.txt; default: the one beside the records, or ids alone")
	cmd.Flags().BoolVar(&plain, "plain", false, "no colours")
	return cmd
}

// openShards opens what a command was given to read records of. A folder that
// holds something else is a wrong argument.
func openShards(cmd *cobra.Command, path string) (*loader.Shards, error) {
	shards, err := loader.Open(cmd.Context(), path, loader.Options{})
	if errors.Is(err, loader.ErrNoShards) {
		return nil, usageError{err}
	}
	return shards, err
}

// tokenNames says what ids stand for: a vocabulary or a tokenizer.
type tokenNames interface {
	Len() int
	Token(id int32) string
}

// headTokens reads what names the ids of records: the vocabulary given, the one
// beside the records, or the tokenizer there. It is nil where there is none.
func headTokens(cmd *cobra.Command, shards *loader.Shards, vocabPath string) (tokenNames, error) {
	if vocabPath != "" {
		tok, err := loadTokenizer(vocabPath, tokenize.DefaultOptions())
		if err != nil {
			return nil, err
		}
		return tok.Vocab(), nil
	}
	if v, err := shards.Vocab(cmd.Context()); v != nil || err != nil {
		return v, err
	}
	path := filepath.Join(filepath.Dir(shards.Files()[0].Path), sharding.TokenizerName)
	tok, err := loadFileTokenizer(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return tok, err
}

// loadFileTokenizer reads a tokenizer.json.
func loadFileTokenizer(path string) (*hf.Tokenizer, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tok, err := hf.Load(path, raw)
	if err != nil {
		return nil, fmt.Errorf("%w tokenizer, or one that is not supported: %w", pipeline.ErrDamaged, err)
	}
	return tok, nil
}

// An examplePrinter shows examples to a person.
type examplePrinter struct {
	w      *bufio.Writer
	tokens tokenNames // nil: ids are shown
	colour bool
}

func (p *examplePrinter) token(id int32) string {
	if p.tokens == nil || id < 0 || int(id) >= p.tokens.Len() {
		return fmt.Sprint(id)
	}
	return p.tokens.Token(id)
}

func (p *examplePrinter) paint(code, s string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *examplePrinter) print(r loader.Record) {
	e := r.Example
	next := "B follows A"
	if e.NextSentenceLabel == 1 {
		next = "B is random"
	}
	fmt.Fprintf(p.w, "%s record %d: %d of %d tokens, %d masked, %s\n", r.File, r.Index, e.Tokens(), len(e.InputIDs), e.Predictions(), next)
	p.segment("A", e, 0, 0)
	p.segment("B", e, 1, segmentStart(e))
	fmt.Fprintln(p.w)
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

func (p *examplePrinter) segment(name string, e *records.Example, segment int32, from int) {
	fmt.Fprintf(p.w, "  %s:", p.paint("1", name))
	next := 0
	for i := from; i < e.Tokens() && e.SegmentIDs[i] == segment; i++ {
		for next < e.Predictions() && int(e.MaskedLMPositions[next]) < i {
			next++
		}
		word := p.token(e.InputIDs[i])
		if next < e.Predictions() && int(e.MaskedLMPositions[next]) == i {
			word = p.paint("33", masked(word, p.token(e.MaskedLMIDs[next])))
		}
		fmt.Fprintf(p.w, " %s", word)
	}
	fmt.Fprintln(p.w)
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

func newExport() *cobra.Command {
	var c pipeline.ExportConfig
	var to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export SHARDS --to text --out DIR",
		Short: "Write shards in another form",
		Long: `--to text writes the documents of every shard, one side a file, in the text form
of create_pretraining_data.py. That script, given such a file and its seed, makes
the records of the shard; so does

  prepare-data examples --text FILE --shards 1 --random-seed SEED ... --out DIR`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case to != "text":
				return usagef("--to %q: must be text", to)
			case c.Out == "":
				return usagef("no output folder: give --out DIR")
			}
			c.Shards = args[0]
			if folder, ok := pipeline.ShardsOf(args[0]); ok {
				c.Shards = folder
			}
			files, err := pipeline.ExportText(cmd.Context(), c)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), files)
			}
			for _, f := range files {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\tseed %d\t%d documents\t%d sentences\n", f.Name, f.RandomSeed, f.Documents, f.Sentences)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&to, "to", "text", "form: text")
	fs.StringVarP(&c.Out, "out", "o", "", "folder to write to (required)")
	fs.StringArrayVar(&c.Documents, "documents", nil, "documents folder that the shards were made of; may be repeated; default: the neighbour in a run's folder")
	fs.BoolVar(&asJSON, "json", false, "write the result as JSON")
	return cmd
}
