package main

import (
	"bufio"
	"bytes"
	stdbzip2 "compress/bzip2"
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pretext/extract"
	"pretext/extract/wiki"
)

// scripts run the peers that are Python libraries.
//
// scripts holds the Python programs that run the peers (other tools) that are
// Python libraries.
//
//go:embed peers/*.py
var scripts embed.FS

// punktParameters is the path of NLTK's Punkt parameters, in the format of
// package sentence.
const punktParameters = "tokenize/sentence/params/english.gz"

// Sizes of the samples for slow peers, in bytes.
const (
	lineSample     = 4 << 20
	documentSample = 8 << 20
	pageSample     = 2 << 20
)

// A peerBench collects the works of pretext and of its peers (other tools that
// do the same work), and the pairs to compare.
type peerBench struct {
	*corpus
	o    options
	dir  string // scripts, samples, output
	all  []*work
	list []pair
}

// peers returns the works of pretext and of other tools on the same input, and
// the pairs to compare.
func (c *corpus) peers(o options, dir string) ([]*work, []pair, error) {
	b := &peerBench{corpus: c, o: o, dir: dir}
	if err := os.CopyFS(dir, scripts); err != nil {
		return nil, nil, err
	}
	for _, add := range []func() error{b.decoders, b.extractors, b.strippers, b.wordPieces, b.tokenizers, b.punkts} {
		if err := add(); err != nil {
			return nil, nil, err
		}
	}
	return b.all, b.list, nil
}

// decoders compares bzip2 decoders.
func (b *peerBench) decoders() error {
	std := work{name: "compress/bzip2 of Go", of: "XML", bytes: b.xmlBytes}.inside(func() (int64, error) {
		_, err := io.Copy(io.Discard, stdbzip2.NewReader(bytes.NewReader(b.dump.data)))
		return 0, err
	})
	lbzip2 := decompressor("lbzip2 -dc -n 1", b.xmlBytes, "lbzip2", "-dc", "-n", "1", b.o.dump)
	ours := b.decode()
	b.all = append(b.all, ours, std, lbzip2)
	for _, p := range []struct {
		peer string
		must float64
		read func(w io.Writer) error
	}{
		{"bzip2 -dc", 1.4, func(w io.Writer) error { return output(w, "bzip2", "-dc", b.o.dump) }},
		{std.name, 2.4, func(w io.Writer) error {
			_, err := io.Copy(w, stdbzip2.NewReader(bytes.NewReader(b.dump.data)))
			return err
		}},
		{lbzip2.name, 0, func(w io.Writer) error { return output(w, "lbzip2", "-dc", b.o.dump) }},
	} {
		sum := crc32.NewIEEE()
		if err := p.read(sum); err != nil {
			return fmt.Errorf("%s: %w", p.peer, err)
		}
		if sum.Sum32() != crc32.ChecksumIEEE(b.xml.data) {
			return fmt.Errorf("%s: the output differs from that of pretext", p.peer)
		}
		b.list = append(b.list, pair{"bzip2 decoding / " + p.peer, ours.name, p.peer, p.must, &verdict{Text: "same bytes"}})
	}
	return nil
}

// output runs a command and writes its standard output to w.
func output(w io.Writer, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout = w
	return cmd.Run()
}

// extractors compares tools that convert a dump to JSON lines.
func (b *peerBench) extractors() error {
	path := filepath.Join(b.dir, "dump.xml")
	if err := os.WriteFile(path, b.xml.data, 0o644); err != nil {
		return err
	}
	for _, in := range []struct {
		form, path             string
		dump                   source
		mustPlain, mustDefault float64
	}{
		{".xml.bz2", b.o.dump, b.dump, 7, 20},
		{".xml", path, b.xml, 40, 40},
	} {
		pages := new(int64)
		ours := b.jsonLines(in.form+" to JSON lines", in.dump, pages)
		b.all = append(b.all, ours)
		for _, kind := range []struct {
			flag string
			must float64
		}{{"--no-templates", in.mustPlain}, {"", in.mustDefault}} {
			same := &verdict{Text: "not measured"}
			args := []string{in.path}
			if kind.flag != "" {
				args = append(args, kind.flag)
			}
			peer := b.wikiExtractor(args, func(articles int) {
				same.Text = fmt.Sprintf("articles: ours %d, theirs %d", *pages, articles)
			})
			peer.name = strings.TrimSpace("WikiExtractor " + in.form + " " + kind.flag)
			b.all = append(b.all, peer)
			b.list = append(b.list, pair{in.form + " to text / " + peer.name, ours.name, peer.name, kind.must, same})
		}
	}
	return nil
}

// jsonLines returns the work of extracting a dump to a file. The work sets
// pages to the number of pages that are articles and not redirects, with or
// without text.
func (b *peerBench) jsonLines(name string, dump source, pages *int64) *work {
	return work{name: name, of: "XML", bytes: b.xmlBytes}.inside(func() (int64, error) {
		f, err := os.Create(filepath.Join(b.dir, "ours.jsonl"))
		if err != nil {
			return 0, err
		}
		defer f.Close()
		out := bufio.NewWriterSize(f, 1<<16)
		var line []byte
		stats, err := dump.documents(wiki.DefaultOptions(), func(d *extract.Document) {
			line = d.AppendJSON(line[:0])
			out.Write(line) // Flush returns the error
		})
		*pages = stats.Pages - stats.Rejects[extract.RejectRedirect] - stats.Rejects[extract.RejectNamespace]
		return stats.Pages, errors.Join(err, out.Flush())
	})
}

// wikiExtractor returns the work of running WikiExtractor with one reading
// process and one worker. It calls found with the number of articles that
// WikiExtractor wrote.
func (b *peerBench) wikiExtractor(args []string, found func(articles int)) *work {
	return &work{of: "XML", bytes: b.xmlBytes, run: func(ctx context.Context) (sample, error) {
		out := filepath.Join(b.dir, "wikiextractor")
		defer os.RemoveAll(out)
		args := append([]string{"-m", "wikiextractor.WikiExtractor", "--json", "--quiet", "--processes", "1", "-o", out}, args...)
		s, err := child(exec.CommandContext(ctx, b.o.python, args...))
		if err != nil {
			return s, err
		}
		s.Bytes = b.xmlBytes
		lines, err := countLines(out)
		found(lines)
		return s, err
	}}
}

func countLines(dir string) (n int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return 0, err
		}
		n += bytes.Count(b, []byte("\n"))
	}
	return n, nil
}
