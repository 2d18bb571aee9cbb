package main

import (
	"path/filepath"
	"strings"

	"pretext/extract"
	"pretext/extract/wiki"
)

// languageDumps are the names of dumps in Greek, French, German, Chinese,
// Japanese and Latgalian.
var languageDumps = []string{"elwikivoyage-medium-pages-articles", "frwiki-sample", "dewiki-20170701-sample", "zhwiki-sample",
	"jawiki-articles-multistream", "ltgwiki-pages-articles"}

// languageSample is the amount of text measured for each language, in bytes.
const languageSample = 256 << 10

// lines returns lines of text from the languageDumps, languageSample bytes from
// each.
func (o options) lines() (all []string, err error) {
	for _, path := range o.languages {
		dump, err := readSource(path)
		if err != nil {
			return nil, err
		}
		var lines []string
		_, err = dump.documents(wiki.DefaultOptions(), func(d *extract.Document) {
			for line := range strings.Lines(strings.Clone(d.Text)) {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		})
		if err != nil {
			return nil, err
		}
		all = append(all, thin(lines, languageSample)...)
	}
	return all, nil
}

// besides returns the path of the vocabulary called name next to the given one:
// bert-base-cased-vocab.txt next to bert-base-uncased-vocab.txt.
func besides(vocab, name string) string {
	return filepath.Join(filepath.Dir(vocab), "bert-base-"+name+"-vocab.txt")
}
