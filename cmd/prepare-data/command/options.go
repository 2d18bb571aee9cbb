package command

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/extract"
	"pretext/pipeline"
	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/tokenize"
)

// addSources adds the flags that name sources and configure how they are read. The order
// of sources on the command line is the order of their documents.
func addSources(fs *pflag.FlagSet, sources *[]pipeline.Source, r *pipeline.Reading) {
	o := &r.Extract
	*o = pipeline.DefaultExtractOptions()
	addTemplates(fs, (*[]string)(&r.Templates))
	fs.Var(sourceList(sources, pipeline.KindWiki), "wiki-dump", "MediaWiki XML dump: .xml, .xml.bz2 or .xml.gz, or a directory or pattern of them; may be repeated")
	fs.Var(sourceList(sources, pipeline.KindWikiHTML), "wiki-html", "pages of a wiki as HTML: a snapshot of Wikimedia Enterprise (.tar.gz, .ndjson), or a directory or pattern of them, or of .html files; may be repeated")
	fs.Var(sourceList(sources, pipeline.KindBooks), "books", "book, directory, pattern, .tar, .tar.gz, .zip, .epub or .parquet; may be repeated")
	w := &o.Wiki
	fs.StringVar(&w.Language, "language", "", "language of all sources, such as en; default: the one that each source names")
	fs.IntSliceVar(&w.Namespaces, "namespaces", w.Namespaces, "`numbers` of the namespaces whose pages are kept")
	fs.BoolVar(&w.KeepDisambiguations, "keep-disambiguations", w.KeepDisambiguations, "keep disambiguation pages")
	fs.Float64Var(&w.MaxHoles, "max-holes", w.MaxHoles, "reject pages with more dropped templates per sentence than this, such as 0.1: one in ten sentences; 1: keep all")
	fs.Var(expandFlag(o), "expand-templates", "expand templates that the command templates does not list by the dump's own template pages, in sentences and list items: auto (if the dump has them) or off")
	t := &w.Wikitext
	fs.BoolVar(&t.Headings, "headings", t.Headings, "keep headings, each on a line of its own")
	fs.BoolVar(&t.Lists, "lists", t.Lists, "keep list items, each on a line of its own")
	fs.BoolVar(&t.BackMatter, "back-matter", t.BackMatter, "keep references, external links, see also and the like")
	fs.BoolVar(&t.Code, "code", t.Code, "keep blocks of source code")
	fs.StringVar(&t.Math, "math", t.Math, "text that replaces each formula; default: none")
	b := &o.Books
	fs.BoolVar(&b.KeepLines, "keep-lines", b.KeepLines, "make every line of a book a paragraph")
	fs.IntVar(&b.LinesPerDocument, "lines-per-document", b.LinesPerDocument, "lines of a text file, or rows of a Parquet file, in each document; 0: one document per text file, or per row")
	fs.BoolVar(&b.Chapters, "chapters", b.Chapters, "make every chapter of a book a document")
	fs.StringVar(&b.Column, "column", "", "column of Parquet files that contains the text; default: text")
	fs.StringVar(&b.Encoding, "encoding", "", "`name` of the encoding of books that are not UTF-8, such as windows-1251 or shift_jis; default: detected")
	fs.BoolVar(&b.KeepBoilerplate, "keep-boilerplate", b.KeepBoilerplate, "keep Project Gutenberg's header and licence, captions, footnotes, page numbers and credits in the text of a book")
	fs.IntVar(&w.MinCharacters, "min-characters", w.MinCharacters, "minimum length of the text of a page, in characters; shorter pages are rejected")
	fs.Var(levelFlag(o), "documents-level", "compression of the extracted documents: 0 (none: twice the disk space, less CPU time) to 4 (smallest)")
}

// levelFlag returns the flag value for the setting documents-level.
func levelFlag(o *pipeline.ExtractOptions) *cli.Value {
	return &cli.Value{Kind: "int", Show: func() []string { return []string{strconv.Itoa(int(o.DocumentsLevel()))} }, Read: func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("must be a number")
		}
		o.SetLevel(extract.Level(n))
		return o.DocumentsLevel().Validate()
	}}
}

// expandFlag returns the flag value for the setting expand-templates.
func expandFlag(o *pipeline.ExtractOptions) *cli.Value {
	modes := map[string]string{"auto": pipeline.ExpandAuto, "off": pipeline.ExpandOff}
	return &cli.Value{Kind: "string", Show: func() []string { return []string{cmp.Or(o.ExpandTemplates, "auto")} }, Read: func(text string) error {
		mode, ok := modes[text]
		if !ok {
			return errors.New("must be auto or off")
		}
		o.ExpandTemplates = mode
		return nil
	}}
}

// addTemplates adds the flag for files with rendering data of templates.
func addTemplates(fs *pflag.FlagSet, files *[]string) {
	fs.StringArrayVar(files, "templates", nil, "`file` with the texts that templates of wikis show; it adds to the lines that the command templates lists, or replaces them; may be repeated")
}

// shareLanguage copies the language of dumps to the options of books and text.
func shareLanguage(o *pipeline.ExtractOptions) {
	o.Books.Lang, o.Text.Lang = o.Wiki.Language, o.Wiki.Language
}

// sourceList returns the value of a source flag. All source flags append to the same list,
// so that sources have the order of the command line.
func sourceList(to *[]pipeline.Source, kind string) *cli.Value {
	return &cli.Value{
		Kind: "path",
		Read: func(path string) error {
			*to = append(*to, pipeline.Source{Kind: kind, Path: path})
			return nil
		},
		Show: func() (paths []string) {
			for _, s := range *to {
				if s.Kind == kind {
					paths = append(paths, s.Path)
				}
			}
			return paths
		},
	}
}

// addExamples adds the flags of create_pretraining_data.py, with hyphens, and the flags
// for shards and splits.
func addExamples(fs *pflag.FlagSet, o *sharding.ExamplesOptions, f *recipeFlags) {
	*o = sharding.DefaultExamplesOptions()
	f.add(fs, o)
	fs.IntVar(&o.MaxSeqLength, "max-seq-length", o.MaxSeqLength, "maximum number of tokens in an example, including [CLS] and [SEP]"+exceptions("max_seq_length", func(o pretrain.Options) any { return o.MaxSeqLength }))
	fs.IntVar(&o.MaxPredictionsPerSeq, "max-predictions-per-seq", o.MaxPredictionsPerSeq, "maximum number of masked positions in an example")
	fs.Float64Var(&o.MaskedLMProb, "masked-lm-prob", o.MaskedLMProb, "fraction of tokens to predict")
	fs.Float64Var(&o.ShortSeqProb, "short-seq-prob", o.ShortSeqProb, "fraction of documents from which shorter examples are made"+exceptions("short_seq_prob", func(o pretrain.Options) any { return o.ShortSeqProb }))
	fs.IntVar(&o.DupeFactor, "dupe-factor", o.DupeFactor, "number of passes over the documents, each with different masks")
	fs.BoolVar(&o.DoWholeWordMask, "do-whole-word-mask", o.DoWholeWordMask, "mask all pieces of a word together")
	fs.Int64Var(&o.RandomSeed, "random-seed", o.RandomSeed, "random seed of shard 0; shard i has seed + i")
	fs.BoolVar(&o.DoLowerCase, lowerCaseFlag, o.DoLowerCase, caseUsage)
	addProfile(fs, &o.TokenizerProfile)
	fs.StringVar(&o.SentenceSplitter, "sentence-splitter", o.SentenceSplitter, "how sentences are found: punkt (as NLTK does), newline (one per line), or auto (punkt, and at each line end)")
	fs.IntVar(&o.Shards, "shards", o.Shards, "number of shards; 0: one for each 4 MiB of text, above 64 GiB for each 16 MiB")
	fs.Float64Var(&o.Fraction, "eval-fraction", o.Fraction, "fraction of documents held out for evaluation")
	fs.Uint64Var(&o.Split.Seed, "split-seed", o.Split.Seed, "seed that selects the held-out documents")
	fs.StringVar(&o.Compression, "compression", o.Compression, "compression of the shards: none or gzip")
	addMix(fs, o)
}

// addTextField sets the default options for JSON lines, and adds the flag that names
// the field with the text.
func addTextField(fs *pflag.FlagSet, o *pipeline.ExtractOptions) {
	*o = pipeline.DefaultExtractOptions()
	fs.StringVar(&o.Text.Field, "text-field", "", "field of JSON lines that contains the text; default: text")
}

// addProfile adds the flag --tokenizer-profile, which selects the tokenizer library to
// imitate when a vocab.txt is used.
func addProfile(fs *pflag.FlagSet, p *tokenize.Profile) {
	fs.StringVar((*string)(p), "tokenizer-profile", string(*p), "tokenizer to reproduce: google, nvidia-pt or hf")
}

// addTokenFile adds the flags that name a vocabulary or tokenizer.
func addTokenFile(fs *pflag.FlagSet, f *pipeline.TokenFile, vocabUsage string) {
	fs.StringVar(&f.Vocab, "vocab", "", vocabUsage)
	fs.StringVar(&f.Tokenizer, "tokenizer", "", "tokenizer.json, instead of --vocab: BPE, Unigram, WordPiece or WordLevel")
}

// checkTokenFile returns a usage error if a file is not a vocabulary or tokenizer. It also
// returns one if a flag is given for an option that the tokenizer.json determines.
func checkTokenFile(cmd *cobra.Command, f pipeline.TokenFile) error {
	if f.Vocab != "" {
		if err := cli.CheckVocab("vocab", f.Vocab, "tokenizer"); err != nil {
			return err
		}
	}
	if f.Tokenizer == "" {
		return nil
	}
	for _, name := range []string{"vocab", "vocab-size", "do-lower-case", "tokenizer-profile", "profile"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s and --tokenizer: the tokenizer.json decides that", name)
		}
	}
	return cli.CheckTokenizer("tokenizer", f.Tokenizer)
}
