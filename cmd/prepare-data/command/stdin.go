package command

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"pretext/extract/wiki"
	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikitext"
	"pretext/tokenize/sentence"
)

// The commands text, sentences and tokenize run one step of the pipeline from standard
// input to standard output. With --jsonl they write one line for every input line.

func newText() *cobra.Command {
	var jsonl bool
	var page textOfPage
	var templates []string
	opts := wikitext.DefaultOptions()
	cmd := &cobra.Command{
		Use:   "text",
		Short: "Filter: wikitext of a page to plain text",
		Long: `Reads the wikitext of one page and writes its plain text.
With --jsonl, each input line is {"wikitext": …} with an optional "title", "lang"
and "wiki", the name of its wiki, such as dewiktionary, and each output line is
{"text": …}. What a line does not say is taken from the flags.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.Validate(); err != nil {
				return misuse(err)
			}
			given, err := page.on(textOfPage{})
			if err != nil {
				return usagef("--wiki-name %v", err)
			}
			if opts.Rendering, err = readTemplates(cmd.Context(), templates); err != nil {
				return err
			}
			s := wikitext.NewScanner(opts)
			if jsonl { // each line may be of another wiki
				return page.lines(cmd, s, opts.Rendering)
			}
			holds := func(f *rendering.File) bool { return f.HoldsFor(given.Lang, given.Wiki) }
			if err := checkEffect(opts.Rendering, holds, "the page: give another --language or --wiki-name"); err != nil {
				return err
			}
			src, err := io.ReadAll(cmd.InOrStdin())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", s.AppendText(nil, src, given))
			return err
		},
	}
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "read and write one JSON object per line")
	cmd.Flags().StringVar(&page.Title, "title", "", "title of the page")
	cmd.Flags().StringVar(&page.Lang, "language", "", "language of the page; default: that of the wiki")
	cmd.Flags().StringVar(&page.Wiki, "wiki-name", "", "name of the wiki, such as dewiktionary")
	addTemplates(cmd.Flags(), &templates)
	return cmd
}

// textOfPage is the input of text: a page. The flags are one without wikitext.
type textOfPage struct{ Wikitext, Title, Lang, Wiki string }

// on returns the page of a line, with what the line does not say from the flags. It fails for
// a wiki without a known language: as English, its text would be wrong.
func (p textOfPage) on(line textOfPage) (wikitext.Page, error) {
	name := cmp.Or(line.Wiki, p.Wiki)
	page := wikitext.Page{Title: cmp.Or(line.Title, p.Title), Wiki: name, Lang: cmp.Or(line.Lang, p.Lang, wiki.LanguageOf(name))}
	switch {
	case name == "":
	case !wikiForm().MatchString(name):
		return page, fmt.Errorf("%q: not the name of a wiki, such as dewiktionary", name)
	case page.Lang == "":
		return page, fmt.Errorf("%q: not a wiki of known language, such as dewiktionary: give its language too", name)
	}
	return page, nil
}

// lines converts the pages on standard input, one on each line. It fails at the end if one of
// the files of templates held for none of them.
func (p textOfPage) lines(cmd *cobra.Command, s *wikitext.Scanner, templates []*rendering.File) error {
	type out struct {
		Text string `json:"text"`
	}
	read, held := false, map[*rendering.File]bool{}
	err := filterLines(cmd, func(line textOfPage) (out, error) {
		page, err := p.on(line)
		if err != nil {
			return out{}, fmt.Errorf("wiki %w", err)
		}
		read = true
		for _, f := range templates {
			held[f] = held[f] || f.HoldsFor(page.Lang, page.Wiki)
		}
		return out{string(s.AppendText(nil, []byte(line.Wikitext), page))}, nil
	})
	if err != nil || !read {
		return err
	}
	return checkEffect(templates, func(f *rendering.File) bool { return held[f] }, "any of the lines: give another --language or --wiki-name, or lines their own")
}

// sentencesOptions are the flags of sentences.
type sentencesOptions struct {
	jsonl          bool
	lang, splitter string
}

func newSentences() *cobra.Command {
	o := sentencesOptions{splitter: sentence.Punkt}
	cmd := &cobra.Command{
		Use:   "sentences",
		Short: "Filter: text to sentences",
		Long: `Reads a text and writes its sentences, one per line.
With --jsonl, each input line is {"text": …} with an optional "lang", and each
output line is {"sentences": [...]}, with every sentence unchanged.

The default, punkt, splits the whole text as NLTK 3.8.1 to 3.10.0 does. auto, the
default of run and examples, also ends a sentence at every line end.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().BoolVar(&o.jsonl, "jsonl", false, "read and write one JSON object per line")
	cmd.Flags().StringVar(&o.lang, "language", "", "language of the text; default English")
	cmd.Flags().StringVar(&o.splitter, "sentence-splitter", o.splitter, "how sentences are found: punkt (as NLTK does), newline (one per line), or auto (punkt, and at each line end)")
	return cmd
}

// foundSentences is the JSON output for one text: its sentences.
type foundSentences struct {
	Sentences []string `json:"sentences"`
}

// run splits the text on standard input into sentences.
func (o *sentencesOptions) run(cmd *cobra.Command) error {
	type in struct{ Text, Lang string }
	splitters := sentence.NewLanguageSplitter(o.splitter)
	if _, err := splitters.For(o.lang); err != nil {
		return misuse(err)
	}
	split := func(v in) (foundSentences, error) {
		s, err := splitters.For(cmp.Or(v.Lang, o.lang))
		if err != nil {
			return foundSentences{}, err
		}
		found := []string{}
		for _, span := range s.AppendSpans(nil, v.Text) {
			found = append(found, v.Text[span.Start:span.End])
		}
		return foundSentences{found}, nil
	}
	if o.jsonl {
		return filterLines(cmd, split)
	}
	src, err := io.ReadAll(cmd.InOrStdin())
	if err != nil {
		return err
	}
	result, err := split(in{Text: string(src)})
	if err != nil {
		return err
	}
	w := bufio.NewWriter(cmd.OutOrStdout())
	for _, s := range result.Sentences {
		if line := sentence.AppendClean(nil, s); len(line) > 0 {
			w.Write(append(line, '\n'))
		}
	}
	return w.Flush()
}

// filterLines calls f with each JSON line of standard input and writes the result as one
// JSON line. For an invalid line it writes {"error": …}, so that line n of the output
// always belongs to line n of the input.
func filterLines[In, Out any](cmd *cobra.Command, f func(In) (Out, error)) error {
	return eachLine(cmd.InOrStdin(), cmd.OutOrStdout(), func(w *bufio.Writer, line []byte) error {
		var in In
		err := json.Unmarshal(line, &in)
		if err == nil {
			var out Out
			if out, err = f(in); err == nil {
				return writeLine(w, out)
			}
		}
		return writeLine(w, struct {
			Error string `json:"error"`
		}{err.Error()})
	})
}

// writeLine writes v as one line of JSON. It escapes U+0085, as encoding/json does
// with U+2028, because some readers treat them as line ends.
func writeLine(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(buf.Bytes(), []byte("\u0085"), []byte(`\u0085`)))
	return err
}

// eachLine calls f for each line of r, of any length, without its line feed. It
// flushes the output before it waits for input.
func eachLine(r io.Reader, w io.Writer, f func(*bufio.Writer, []byte) error) error {
	in, out := bufio.NewReaderSize(r, 64<<10), bufio.NewWriterSize(w, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := f(out, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}
