package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/wiki"
	"pretext/tokenize"
)

// A corpus is the input in the forms that the stages read, in memory.
type corpus struct {
	dump     []byte // the file
	head     wiki.Head
	xml      []byte
	xmlBytes int64
	pages    []page // articles
	books    string // path
	vocab    []byte
	tok      *tokenize.Tokenizer

	documents []*extract.Document // of the wiki, then of the books
	wiki      int                 // number of documents from the wiki
	textBytes int64
	sentences [][]byte
	lineBytes int64 // of the sentences
}

// A page is an article before extraction.
type page struct {
	title string
	text  []byte
}

func readCorpus(ctx context.Context, o options) (*corpus, error) {
	c := &corpus{books: o.books}
	var err error
	if c.dump, err = os.ReadFile(o.dump); err != nil {
		return nil, err
	}
	if c.head, err = wiki.ReadHead(bytes.NewReader(c.dump), int64(len(c.dump))); err != nil {
		return nil, err
	}
	if c.head.Compression != wiki.CompressionBzip2 {
		return nil, fmt.Errorf("%s: compressed with %q, bzip2 is needed for comparison", o.dump, c.head.Compression)
	}
	if c.xml, err = io.ReadAll(bzip2.NewStreamReader(bytes.NewReader(c.dump), int64(len(c.dump)))); err != nil {
		return nil, err
	}
	c.xmlBytes = int64(len(c.xml))
	c.pages = articles(c.xml)
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
	if err := c.readDocuments(); err != nil {
		return nil, err
	}
	if c.sentences, err = c.split(nil); err != nil {
		return nil, err
	}
	for _, s := range c.sentences {
		c.lineBytes += int64(len(s))
	}
	return c, ctx.Err()
}

func (c *corpus) readDocuments() error {
	keep := func(doc *extract.Document) {
		d := *doc
		d.ID, d.Title, d.Text = strings.Clone(d.ID), strings.Clone(d.Title), strings.Clone(d.Text)
		c.documents = append(c.documents, &d)
		c.textBytes += int64(len(d.Text))
	}
	if _, err := c.fromDump(bytes.NewReader(c.dump), c.head, wiki.DefaultOptions(), keep); err != nil {
		return err
	}
	c.wiki = len(c.documents)
	return c.fromBooks(keep)
}

// fromDump passes the documents of a dump to keep.
func (c *corpus) fromDump(r *bytes.Reader, head wiki.Head, o wiki.Options, keep func(*extract.Document)) (wiki.Stats, error) {
	dump := wiki.Dump{File: r, Size: r.Size(), Name: "dump.xml.bz2", Head: head}
	reader := wiki.NewReader(dump, wiki.Range{End: r.Size()}, o)
	for doc, err := range reader.Documents() {
		if err != nil {
			return wiki.Stats{}, err
		}
		keep(doc)
	}
	return reader.Stats(), nil
}

// fromBooks passes the documents of the books to keep.
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

// articles splits a dump into the pages of articles. It is simple, because it
// only prepares input for measurements and is not a general reader of dumps.
func articles(xml []byte) (pages []page) {
	unescape := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&")
	for {
		_, rest, ok := bytes.Cut(xml, []byte("<page>"))
		if !ok {
			return pages
		}
		body, after, ok := bytes.Cut(rest, []byte("</page>"))
		if !ok {
			return pages
		}
		xml = after
		if ns := inner(body, "ns"); string(ns) != "0" || bytes.Contains(body, []byte("<redirect ")) {
			continue
		}
		pages = append(pages, page{unescape.Replace(string(inner(body, "title"))), []byte(unescape.Replace(string(inner(body, "text"))))})
	}
}

// inner returns the content of the first element with a name.
func inner(xml []byte, name string) []byte {
	_, rest, ok := bytes.Cut(xml, []byte("<"+name))
	if !ok {
		return nil
	}
	attributes, rest, ok := bytes.Cut(rest, []byte(">"))
	if !ok || bytes.HasSuffix(attributes, []byte("/")) {
		return nil
	}
	content, _, _ := bytes.Cut(rest, []byte("</"+name+">"))
	return content
}
