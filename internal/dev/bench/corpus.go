package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/wiki"
	"pretext/tokenize"
)

// A corpus is the input of the benchmarks in memory, in the form that each
// stage reads.
type corpus struct {
	dump     source // the dump, compressed with bzip2
	xml      source // decompressed
	xmlBytes int64
	pages    []page // articles
	books    string // path of the folder of books
	vocab    []byte
	tok      *tokenize.Tokenizer

	documents []*extract.Document // documents of the wiki, then of the books
	wiki      int                 // number of documents from the wiki
	textBytes int64
	sentences [][]byte
	lineBytes int64 // size of all sentences
}

// A page is an article before extraction.
type page struct {
	title string
	text  []byte
}

// A source is a dump in memory.
type source struct {
	data []byte
	head wiki.Head
}

func readSource(path string) (s source, err error) {
	if s.data, err = os.ReadFile(path); err != nil {
		return s, err
	}
	s.head, err = wiki.ReadHead(bytes.NewReader(s.data), int64(len(s.data)))
	return s, err
}

// documents calls keep for each document of the dump.
func (s source) documents(o wiki.Options, keep func(*extract.Document)) (wiki.Stats, error) {
	size := int64(len(s.data))
	dump := wiki.Dump{File: bytes.NewReader(s.data), Size: size, Name: "dump", Head: s.head}
	reader := wiki.NewReader(dump, wiki.Range{End: size}, o)
	for doc, err := range reader.Documents() {
		if err != nil {
			return wiki.Stats{}, err
		}
		keep(doc)
	}
	return reader.Stats(), nil
}

// decode returns a reader of the decompressed bytes of a bzip2 dump.
func (s source) decode() io.Reader {
	return bzip2.NewStreamReader(bytes.NewReader(s.data), int64(len(s.data)))
}

func readCorpus(ctx context.Context, o options) (*corpus, error) {
	c := &corpus{books: o.books}
	var err error
	if c.dump, err = readSource(o.dump); err != nil {
		return nil, err
	}
	if c.dump.head.Compression != wiki.CompressionBzip2 {
		return nil, fmt.Errorf("%s: compressed with %q, want bzip2", o.dump, c.dump.head.Compression)
	}
	c.xml = source{head: c.dump.head}
	c.xml.head.Compression = wiki.CompressionNone
	if c.xml.data, err = io.ReadAll(c.dump.decode()); err != nil {
		return nil, err
	}
	c.xmlBytes = int64(len(c.xml.data))
	if c.pages, err = articles(bytes.NewReader(c.xml.data)); err != nil {
		return nil, err
	}
	if c.vocab, err = os.ReadFile(o.vocab); err != nil {
		return nil, err
	}
	v, err := tokenize.ReadVocab(o.vocab, c.vocab)
	if err != nil {
		return nil, err
	}
	if c.tok, err = tokenize.New(v, tokenize.DefaultOptions()); err != nil {
		return nil, err
	}
	keep := func(doc *extract.Document) {
		d := *doc
		d.ID, d.Title, d.Text = strings.Clone(d.ID), strings.Clone(d.Title), strings.Clone(d.Text)
		c.documents = append(c.documents, &d)
		c.textBytes += int64(len(d.Text))
	}
	if _, err := c.dump.documents(wiki.DefaultOptions(), keep); err != nil {
		return nil, err
	}
	c.wiki = len(c.documents)
	if err := c.fromBooks(keep); err != nil {
		return nil, err
	}
	sentences, err := c.splitter()
	if err != nil {
		return nil, err
	}
	for _, d := range c.documents {
		for line := range sentences(d.Text) {
			c.sentences = append(c.sentences, slices.Clone(line))
			c.lineBytes += int64(len(line))
		}
	}
	return c, ctx.Err()
}

// fromBooks calls keep for each document of the books.
func (c *corpus) fromBooks(keep func(*extract.Document)) error {
	tasks, err := books.Plan(books.Local{}, []string{c.books}, books.Options{})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		for doc, err := range books.NewReader(books.Local{}, t, books.Options{}).Documents() {
			if err != nil {
				return err
			}
			keep(doc)
		}
	}
	return nil
}

// articles returns the pages of a dump in namespace 0 that are not redirects.
func articles(dump io.Reader) (pages []page, err error) {
	decoder := xml.NewDecoder(dump)
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return pages, nil
		} else if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "page" {
			continue
		}
		var p struct {
			Title     string    `xml:"title"`
			Namespace int       `xml:"ns"`
			Redirect  *struct{} `xml:"redirect"`
			Text      string    `xml:"revision>text"`
		}
		if err := decoder.DecodeElement(&p, &start); err != nil {
			return nil, err
		}
		if p.Namespace == 0 && p.Redirect == nil {
			pages = append(pages, page{p.Title, []byte(p.Text)})
		}
	}
}
