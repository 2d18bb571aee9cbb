// Package consumers describes the training programs that read data sets of ours with
// loaders of their own: which columns, types, compression, folders and recipes each loader
// takes. The stage convert, its checks, the documentation and the data card follow these
// descriptions.
//
// A file of this package describes one consumer. Its facts come from the code of the
// consumer's loader, whose version [Consumer.Checked] names.
package consumers

import (
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/records/columns"
)

// A Consumer is a program, or a family of programs, that trains models with one loader.
type Consumer struct {
	Name    string   // value of --for
	About   string   // one or more lines of help: whose loader it is
	Checked []string // versions of the loader's code for which this description was checked

	// Recipes are the names of the recipes whose records the loader reads rightly. The
	// first is the recommended one.
	Recipes []string
	// Misread says what the loader would do with the records of other recipes, by the name
	// of the recipe, as the continuation of "the loader …".
	Misread map[string]string

	Format      string          // name of a format; "": the shards as they are
	Compression string          // "": the default of the format
	Int         columns.Type    // type of integers
	Fields      []columns.Field // nil: a column for each feature
	// MaxVocab is the largest number of ids for which the types of the columns suffice; 0:
	// any.
	MaxVocab int
	// Splits names the folder of each split, if the loader needs one for each. nil: as the
	// format has them.
	Splits map[string]string

	// Share is the measured size of the files, divided by the size of the same records as
	// uncompressed TFRecords; 0: that of the format.
	Share float64

	// Words means that the loader needs the words of a vocab.txt, with [PAD] first.
	Words bool
	// Masks means that the loader draws masks and pads by itself, so that the vocabulary must
	// have [MASK] and [PAD].
	Masks bool
	// Files is the least number of files of the train split.
	Files int
	// Balance means that the numbers of rows of the files of a length bin must differ by
	// exactly one.
	Balance bool

	// Reinterprets means that the loader takes the bytes of a column for values of its own
	// type, whatever the type in the files.
	Reinterprets bool
	// Unmasked means that the loader attends to the padding of the records.
	Unmasked bool
	// Cut means that the loader drops the tokens of a record beyond its own maximum length.
	Cut bool

	// Load is Python code that makes the consumer's loader. It contains the placeholder
	// {folder}, a string literal: the folder of the train split.
	Load string
}

// all returns the descriptions, in the order in which help texts list them.
func all() []Consumer {
	return []Consumer{hfTrainer(), modernBERT(), mosaicBERT(), streamingLibrary(), levanter(), nvidiaBERT(), lddl(), megatronBERT(), tensorFlow()}
}

// Names returns the names of all consumers.
func Names() (names []string) {
	for _, c := range all() {
		names = append(names, c.Name)
	}
	return names
}

// Get returns the consumer with the given name. An unknown name is a usage error.
func Get(name string) (Consumer, error) {
	list := all()
	if i := slices.IndexFunc(list, func(c Consumer) bool { return c.Name == name }); i >= 0 {
		return list[i], nil
	}
	return Consumer{}, failure.Usagef("consumer %q: must be one of %s", name, strings.Join(Names(), ", "))
}

// Facts are what decides whether a consumer's loader can read examples. Zero values are
// unknown.
type Facts struct {
	Recipe     string
	Vocabulary int      // number of ids
	Tokenizer  bool     // the ids are of a tokenizer.json, not of a vocab.txt
	Pad        int32    // id of [PAD]
	Lacks      []string // special tokens that the vocabulary does not have
	Files      int      // of the train split
	Gzip, Bins bool     // the shards are compressed, or have length bins
}

// Specials sets what f says of [PAD] and [MASK] by their ids, which are negative if the
// vocabulary does not have them.
func (f *Facts) Specials(pad, mask int32) {
	f.Pad = max(0, pad)
	if pad < 0 {
		f.Lacks = append(f.Lacks, "[PAD]")
	}
	if mask < 0 {
		f.Lacks = append(f.Lacks, "[MASK]")
	}
}

// Check returns a usage error if the consumer's loader would misread examples.
func (c Consumer) Check(f Facts) error {
	if !slices.Contains(c.Recipes, f.Recipe) {
		why := c.Misread[f.Recipe]
		if why == "" {
			why = "does not read such records"
		}
		return failure.Usagef("the loader of %s %s: make the records with --recipe %s", c.Name, why, strings.Join(c.Recipes, " or "))
	}
	switch {
	case c.MaxVocab > 0 && f.Vocabulary > c.MaxVocab:
		return failure.Usagef("the loader of %s reads ids below %d, and the vocabulary has %d: use a smaller vocabulary", c.Name, c.MaxVocab, f.Vocabulary)
	case c.Words && f.Tokenizer:
		return failure.Usagef("the loader of %s needs the words of a vocab.txt, and the examples are made with a tokenizer.json: make them with --vocab", c.Name)
	case c.Masks && len(f.Lacks) > 0:
		return failure.Usagef("the loader of %s masks and pads by itself, and the vocabulary has no %s: use one that has", c.Name, strings.Join(f.Lacks, " and no "))
	case c.Words && f.Pad != 0:
		return failure.Usagef("the loader of %s pads with 0, and [PAD] has the id %d: use a vocabulary whose first token is [PAD]", c.Name, f.Pad)
	case c.Format == "" && f.Gzip:
		return failure.Usagef("the loader of %s reads no compressed shards: leave --compression out", c.Name)
	case c.Format == "" && f.Bins:
		return failure.Usagef("the loader of %s reads examples of one length: leave length-bins out", c.Name)
	case f.Files > 0 && f.Files < c.Files:
		return failure.Usagef("the loader of %s needs at least %d files: make the records with --shards %d or more", c.Name, c.Files, c.Files)
	}
	return nil
}

// From reports whether the values of a column of the consumer come from a feature.
func (c Consumer) From(column, feature string) bool {
	return slices.ContainsFunc(c.Fields, func(f columns.Field) bool { return f.Name == column && slices.Contains(f.From, feature) })
}

// Spec returns the columns of the consumer, for a Spec with the form and the lengths of the
// records.
func (c Consumer) Spec(s columns.Spec) columns.Spec {
	s.Fields, s.Int = c.Fields, c.Int
	return s
}
