package recognize_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"pretext/internal/dev/realdata"
	"pretext/internal/recognize"
)

const dump = `<mediawiki xml:lang="en"><page><title>A</title><revision><text>T</text></revision></page></mediawiki>`

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	fmt.Fprint(w, text)
	w.Close()
	return b.String()
}

func zstandard(text string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(text), nil))
}

func zipOf(name, text string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.CreateHeader(&zip.FileHeader{Name: name}) // stored
	fmt.Fprint(f, text)
	w.Close()
	return b.String()
}

func TestAFileIsRecognizedByItsFirstBytes(t *testing.T) {
	for _, test := range []struct {
		head string
		want recognize.Kind
	}{
		{"", recognize.Empty},
		{dump, recognize.Dump},
		{"\ufeff<?xml version=\"1.0\"?>\n<!-- c -->\n" + dump, recognize.Dump},
		{gzipped(dump), recognize.Dump},
		{zstandard(dump), recognize.Dump},
		{"<page><title>A</title><revision>", recognize.Dump},
		{"<page><p>no wiki</p></page>", recognize.XML},
		{"<!DOCTYPE html><html>", recognize.HTML},
		{"It was late. <b>Very</b> late.\n", recognize.Text},
		{"{{Infobox}}\n'''A''' is", recognize.Text},
		{"[[File:A.jpg]] A is", recognize.Text},
		{"{\"text\": 1}\n", recognize.JSON},
		{"[\n 1]", recognize.JSON},
		{zstandard("{\"text\": 1}\n"), recognize.JSON},
		{`{"version": "1.0", "added_tokens": []}`, recognize.TokenizerJSON},
		{`{"hidden_size": 8, "num_hidden_layers": 2}`, recognize.ModelConfig},
		{"[PAD]\r\n[UNK]\r\n", recognize.Vocab},
		{"568:10:A\n", recognize.DumpIndex},
		{"-- MySQL dump 10\nCREATE TABLE `page`", recognize.SQL},
		{"PAR1\x15\x04", recognize.Parquet},
		{"%PDF-1.7", recognize.PDF},
		{"7z\xbc\xaf\x27\x1c\x00", recognize.SevenZip},
		{zipOf("a.txt", "x"), recognize.Zip},
		{zipOf("mimetype", "application/epub+zip"), recognize.EPUB},
		{zipOf("[Content_Types].xml", "<Types/>"), recognize.Office},
		{zipOf("archive/data.pkl", "\x80\x02"), recognize.Weights},
		{"\x10\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\"", recognize.Weights},
		{strings.Repeat("a\x00", 100), ""},
		{gzipped(strings.Repeat("a\x00", 100)), recognize.Gzip},
		{strings.Repeat("\xff\xfe", 100), ""},
	} {
		if got := recognize.File(strings.NewReader(test.head), int64(len(test.head))); got != test.want {
			t.Errorf("%.40q: got %q, want %q", test.head, got, test.want)
		}
	}
}

func TestAFolderIsRecognizedByItsNames(t *testing.T) {
	for files, want := range map[string]recognize.Kind{
		"": recognize.EmptyFolder, ".hidden": recognize.EmptyFolder,
		"config.json model.safetensors vocab.txt": recognize.Model, "metrics.jsonl cache": recognize.TrainingRun, "config.json model.safetensors manifest.json": recognize.Model,
		"shards/manifest.json metrics.jsonl step-00000001/manifest.json": recognize.PreparedRun, "step-00000010": recognize.TrainingRun,
		"shards/manifest.json vocab": recognize.PreparedRun, "documents/plan.json": recognize.PreparedRun,
		"vocab.txt": recognize.TokenizerFolder, "a.txt b.TXT": recognize.TextFolder, "w.xml.bz2": recognize.DumpFolder, "a.jsonl.gz": recognize.JSONFolder,
		"a.html b.html c.txt": recognize.HTMLFolder, "a.html b.txt": "", "a.png": "", "dataset_info.json state.json data-0.arrow": recognize.Saved,
	} {
		dir := t.TempDir()
		for name := range strings.FieldsSeq(files) {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got := recognize.Path(context.Background(), dir); got != want {
			t.Errorf("%s: got %q, want %q", files, got, want)
		}
	}
}

// What a real file is called by a user is what it is.
func TestRealFilesAreRecognized(t *testing.T) {
	for pattern, want := range map[string]recognize.Kind{
		"wiki/*.xml.bz2": recognize.Dump, "wiki/*index.txt.bz2": recognize.DumpIndex, "books/txt/*.txt": recognize.Text, "books/books-txt.tar.gz": recognize.Tar,
	} {
		paths, err := filepath.Glob(filepath.Join(realdata.Path(t, filepath.Dir(pattern)), filepath.Base(pattern)))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, path := range paths {
			got := recognize.Path(context.Background(), path)
			if strings.Contains(path, "utf16") {
				continue // an encoding that only the reader of dumps knows
			}
			if got != want {
				t.Errorf("%s: got %q, want %q", filepath.Base(path), got, want)
			}
		}
	}
}

func ExampleCures() {
	cures := recognize.Each("give it as --books PATH", recognize.Text, recognize.EPUB).With(recognize.Cures{recognize.HTML: "convert PATH to text"})
	fmt.Println(cures.For("a.txt", recognize.Text))
	fmt.Println(cures.For("a.html", recognize.HTML))
	fmt.Println(cures.For("a.xml", recognize.Dump))
	// Output:
	// a.txt is plain text: give it as --books a.txt
	// a.html is a web page (HTML): convert a.html to text
	// <nil>
}
