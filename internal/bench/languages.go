package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"pretext/extract"
	"pretext/extract/wiki"
)

// languageDumps are Greek, French, German, Chinese, Japanese and Latgalian.
var languageDumps = []string{"elwikivoyage-medium-pages-articles", "frwiki-sample", "dewiki-20170701-sample", "zhwiki-sample",
	"jawiki-articles-multistream", "ltgwiki-pages-articles"}

// languageSample is how much text of each language is measured, in bytes.
const languageSample = 256 << 10

// lines returns lines of text in the languages of the dumps named, as much of
// each.
func (o options) lines() (all []string, err error) {
	for _, path := range o.languages {
		dump, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		head, err := wiki.ReadHead(bytes.NewReader(dump), int64(len(dump)))
		if err != nil {
			return nil, err
		}
		var lines []string
		c := new(corpus)
		_, err = c.fromDump(bytes.NewReader(dump), head, wiki.DefaultOptions(), func(d *extract.Document) {
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

// besides returns the vocabulary beside the one given that is called that way:
// bert-base-cased-vocab.txt beside bert-base-uncased-vocab.txt.
func besides(vocab, name string) string {
	return filepath.Join(filepath.Dir(vocab), "bert-base-"+name+"-vocab.txt")
}
