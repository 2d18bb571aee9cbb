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
//go:embed peers/*.py
var scripts embed.FS

// punktParameters are NLTK's, in our format.
const punktParameters = "tokenize/sentence/params/english.gz"

// Sizes of the samples for slow peers, in bytes.
const (
	lineSample     = 4 << 20
	documentSample = 8 << 20
	pageSample     = 2 << 20
)

// A peerBench collects works and pairs for the comparison with peers.
type peerBench struct {
	*corpus
	o    options
	dir  string // scripts, samples, output
	all  []*work
	list []pair
}

// peers returns our works and those of other tools on the same input, and the
// pairs to compare.
func (c *corpus) peers(o options, dir string) ([]*work, []pair, error) {
	b := &peerBench{corpus: c, o: o, dir: dir}
	if err := os.CopyFS(dir, scripts); err != nil {
		return nil, nil, err
	}
	for _, add := range []func() error{b.decoders, b.extractors, b.strippers, b.wordPieces, b.punkts} {
		if err := add(); err != nil {
			return nil, nil, err
		}
	}
	return b.all, b.list, nil
}

// compare adds a pair of works that were added before, or the baseline.
func (b *peerBench) compare(name, ours, peer string, must float64, same *verdict) {
	b.list = append(b.list, pair{Name: name, Ours: ours, Peer: peer, Must: must, Same: same})
}

// decoders compares bzip2 decoders.
func (b *peerBench) decoders() error {
	std := inside("compress/bzip2 of Go", "XML", b.xmlBytes, func() (int64, error) {
		_, err := io.Copy(io.Discard, stdbzip2.NewReader(bytes.NewReader(b.dump)))
		return 0, err
	})
	lbzip2 := decompressor("lbzip2 -dc -n 1", b.xmlBytes, "lbzip2", "-dc", "-n", "1", b.o.dump)
	ours := b.decode()
	b.all = append(b.all, ours, std, lbzip2)
	for _, p := range []struct {
		peer string
		must float64
		read func() (uint32, error)
	}{
		{"bzip2 -dc", 1.4, func() (uint32, error) { return sumOf("bzip2", "-dc", b.o.dump) }},
		{std.name, 2.4, func() (uint32, error) { return sumFrom(stdbzip2.NewReader(bytes.NewReader(b.dump))) }},
		{lbzip2.name, 0, func() (uint32, error) { return sumOf("lbzip2", "-dc", b.o.dump) }},
	} {
		sum, err := p.read()
		if err != nil {
			return fmt.Errorf("%s: %w", p.peer, err)
		}
		if sum != crc32.ChecksumIEEE(b.xml) {
			return fmt.Errorf("%s: gives other bytes than ours", p.peer)
		}
		b.compare("bzip2 decoding / "+p.peer, ours.name, p.peer, p.must, &verdict{Text: "same bytes"})
	}
	return nil
}

func sumOf(command ...string) (uint32, error) {
	h := crc32.NewIEEE()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout = h
	err := cmd.Run()
	return h.Sum32(), err
}

func sumFrom(r io.Reader) (uint32, error) {
	h := crc32.NewIEEE()
	_, err := io.Copy(h, r)
	return h.Sum32(), err
}

// extractors compares tools that convert a dump to JSON lines.
func (b *peerBench) extractors() error {
	xml := filepath.Join(b.dir, "dump.xml")
	if err := os.WriteFile(xml, b.xml, 0o644); err != nil {
		return err
	}
	plain := b.head
	plain.Compression = wiki.CompressionNone
	for _, in := range []struct {
		form, path             string
		dump                   []byte
		head                   wiki.Head
		mustPlain, mustDefault float64
	}{
		{".xml.bz2", b.o.dump, b.dump, b.head, 7, 20},
		{".xml", xml, b.xml, plain, 40, 40},
	} {
		pages := new(int64)
		ours := b.jsonLines(in.form+" to JSON lines", in.dump, in.head, pages)
		b.all = append(b.all, ours)
		for _, kind := range []struct {
			flag string
			must float64
		}{{"--no-templates", in.mustPlain}, {"", in.mustDefault}} {
			same := &verdict{Text: "not measured"}
			peer := b.wikiExtractor(in.form, in.path, kind.flag, pages, same)
			b.all = append(b.all, peer)
			b.compare(in.form+" to text / "+peer.name, ours.name, peer.name, kind.must, same)
		}
	}
	return nil
}

// jsonLines extracts a dump to a file. It counts the pages that are articles
// and not redirects, with or without text.
func (b *peerBench) jsonLines(name string, dump []byte, head wiki.Head, pages *int64) *work {
	return inside(name, "XML", b.xmlBytes, func() (int64, error) {
		f, err := os.Create(filepath.Join(b.dir, "ours.jsonl"))
		if err != nil {
			return 0, err
		}
		defer f.Close()
		out := bufio.NewWriterSize(f, 1<<16)
		var line []byte
		var failed error
		stats, err := b.fromDump(bytes.NewReader(dump), head, wiki.DefaultOptions(), func(d *extract.Document) {
			line = d.AppendJSON(line[:0])
			if _, err := out.Write(line); err != nil {
				failed = err
			}
		})
		if err := out.Flush(); err != nil {
			return 0, err
		}
		*pages = stats.Pages - stats.Rejects[extract.RejectRedirect] - stats.Rejects[extract.RejectNamespace]
		return stats.Pages, errors.Join(err, failed)
	})
}

// wikiExtractor runs WikiExtractor with one reading process and one worker.
func (b *peerBench) wikiExtractor(form, dump, flag string, pages *int64, same *verdict) *work {
	name := strings.TrimSpace("WikiExtractor " + form + " " + flag)
	return &work{name: name, of: "XML", bytes: b.xmlBytes, run: func(ctx context.Context) (sample, error) {
		out := filepath.Join(b.dir, "wikiextractor")
		defer os.RemoveAll(out)
		args := []string{"-m", "wikiextractor.WikiExtractor", dump, "--json", "--quiet", "--processes", "1", "-o", out}
		if flag != "" {
			args = append(args, flag)
		}
		s, err := child(exec.CommandContext(ctx, b.o.python, args...))
		if err != nil {
			return s, err
		}
		s.Bytes = b.xmlBytes
		lines, err := countLines(out)
		same.Text = fmt.Sprintf("articles: ours %d, theirs %d", *pages, lines)
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
