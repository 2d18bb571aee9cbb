package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"pretext/internal/pyrandom"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/pretrain"
)

// A part of a run is compared with a bound: work that every implementation of the part
// must do, and no more, measured on the same machine and the same bytes in the same round.
type part struct {
	name  string // of a work
	what  string // what the bound does
	bound func() (int64, error)
}

// blockEntries is the size of the table of a block of bzip2, in words of 32 bits.
const blockEntries = 1 << 20

// cycle returns a table in which each entry holds the index of another, in one random
// cycle: what follows it loads from memory whenever the cache is smaller.
func cycle(n int) []uint32 {
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	table := make([]uint32, n)
	for i, at := range order {
		table[at] = uint32(order[(i+1)%n])
	}
	return table
}

// chase makes n dependent loads, as many chains of them at a time as the decoder of bzip2
// follows.
func chase(table []uint32, n int64) uint32 {
	const chains = 24
	var x [chains]uint32
	for j := range x {
		x[j] = uint32(j * len(table) / chains)
	}
	t := (*[blockEntries]uint32)(table)
	for ; n > 0; n -= chains {
		for j := range x {
			x[j] = t[x[j]%blockEntries]
		}
	}
	return x[0]
}

// look makes n independent loads of different cache lines of a table.
func look(table []uint32, n int64) (sum uint32) {
	mask := uint32(len(table) - 1)
	for i := range n {
		sum += table[uint32(i)*2654435761&mask]
	}
	return sum
}

// cachedBytes is the size of pieces of a file that are read and copied within the cache.
const cachedBytes = 64 << 10

// pieces calls do for the pieces of data.
func pieces[T string | []byte](data T, do func(piece T)) {
	for ; len(data) > cachedBytes; data = data[cachedBytes:] {
		do(data[:cachedBytes])
	}
	do(data)
}

// draws returns the expected number of random words that the masks of an example take: a
// shuffle of its candidates, which rejects draws, and a float64 for each masked position.
func draws(p records.Parts) (n float64) {
	for limit := 2; limit <= p.Tokens-3; limit++ { // without [CLS], [SEP], [SEP]
		n += float64(int(1)<<bits.Len(uint(limit))) / float64(limit)
	}
	return n + 2*float64(p.Predictions)
}

// wordLines is the size of the cache of words of an encoder, in words of 32 bits.
const wordLines = 1 << 19

func (c *corpus) countWords() (n int64) {
	for _, s := range c.sentences {
		n += int64(len(bytes.Fields(s)))
	}
	return n
}

// parts returns the parts that the corpus can be measured for. made are some records of
// it, file their bytes; folder is where files are written.
func (c *corpus) parts(made []records.Parts, file []byte, folder string) []part {
	return append(c.textParts(), recordParts(made, file, folder)...)
}

// textParts returns the parts from the dump to token ids.
func (c *corpus) textParts() []part {
	var (
		table  = cycle(blockEntries)
		words  = make([]uint32, wordLines)
		room   = make([]byte, cachedBytes)
		read   = func(data []byte) { bytes.IndexByte(data, 0xff) } // no byte of UTF-8
		nWords = c.countWords()
	)
	return []part{
		{"bzip2 decoding", "a dependent load from a table of 4 MB for each byte, 24 at a time", func() (int64, error) {
			runtime.KeepAlive(chase(table, c.xmlBytes)) // so that the compiler keeps the loads
			return 0, nil
		}},
		{"XML to pages", "reading the bytes", func() (int64, error) {
			read(c.xml.data)
			return 0, nil
		}},
		{"wikitext to text", "copying the bytes", func() (int64, error) {
			for _, p := range c.pages {
				pieces(p.text, func(p []byte) { copy(room, p) })
			}
			return 0, nil
		}},
		{"documents file, writing", "copying the text", func() (int64, error) {
			for _, d := range c.documents {
				pieces(d.Text, func(p string) { copy(room, p) })
			}
			return 0, nil
		}},
		{"documents file, reading", "copying the text", func() (int64, error) {
			for _, d := range c.documents {
				pieces(d.Text, func(p string) { copy(room, p) })
			}
			return 0, nil
		}},
		{"sentences (Punkt)", "reading the text", func() (int64, error) {
			for _, d := range c.documents {
				strings.IndexByte(d.Text, 0xff)
			}
			return 0, nil
		}},
		{"WordPiece", "reading the text, and a load from 2 MB for each word", func() (int64, error) {
			for _, s := range c.sentences {
				read(s)
			}
			runtime.KeepAlive(look(words, nWords)) // so that the compiler keeps the loads
			return 0, nil
		}},
	}
}

// recordParts returns the parts from token ids to files.
func recordParts(made []records.Parts, file []byte, folder string) []part {
	var (
		room    = make([]byte, cachedBytes)
		copied  = func(data []byte) { pieces(data, func(p []byte) { copy(room, p) }) }
		sums    = crc32.MakeTable(crc32.Castagnoli)
		checked = func(data []byte) { pieces(data, func(p []byte) { crc32.Checksum(p, sums) }) }
		rng     = pyrandom.New(1)
		total   = 0.0
	)
	for _, p := range made {
		total += draws(p)
	}
	return []part{
		{masksName, "the random words that shuffles and choices take, and copying the bytes", func() (int64, error) {
			for n := total; n > 0; n -= float64(1 + len(rng.Unused())) {
				rng.Skip(len(rng.Unused()))
				rng.Uint32() // makes the next words
			}
			copied(file)
			return int64(len(made)), nil
		}},
		{"record encoding and framing", "copying the bytes, and their CRC-32C", func() (int64, error) {
			copied(file)
			checked(file)
			return int64(len(made)), nil
		}},
		{"TFRecord reading, with CRC", "the CRC-32C of the bytes", func() (int64, error) {
			checked(file)
			return int64(len(made)), nil
		}},
		{writingName, "writing over pages of a file that the page cache has", func() (int64, error) {
			return 0, overwrite(filepath.Join(folder, "old"), file)
		}},
	}
}

const (
	masksName   = "records: pairs, masks, encoding"
	writingName = "writing a new file"
	writeBytes  = 64 << 10 // of a call of the system
)

// overwrite writes data to a file that has as many bytes.
func overwrite(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return writeAll(f, data, f.Close)
}

// writeAll writes data in calls of writeBytes and ends with end.
func writeAll(w io.Writer, data []byte, end func() error) error {
	for len(data) > 0 {
		n := min(writeBytes, len(data))
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return end()
}

// writeNew writes data to a new file as stages do, and removes it before it is synced.
func writeNew(ctx context.Context, folder store.Folder, data []byte) error {
	w, err := folder.Create(ctx, "new")
	if err != nil {
		return err
	}
	defer w.Abort()
	return writeAll(w, data, func() error { return nil })
}

// buildSome returns the work of making n records of the first shard, size bytes with frames.
func (c *corpus) buildSome(n int, size int64) *work {
	var corpora []*pretrain.Corpus
	var builder *pretrain.Builder
	enough := errors.New("enough")
	w := work{name: masksName, of: "records", bytes: size}
	build := w.inside(func() (made int64, err error) {
		_, err = builder.Build(context.Background(), corpora[0], seed, func(pretrain.Record) error {
			if made == int64(n) {
				return enough
			}
			made++
			return nil
		})
		if errors.Is(err, enough) {
			err = nil
		}
		return made, err
	})
	w.run = func(ctx context.Context) (_ sample, err error) {
		if corpora == nil {
			if corpora, err = c.corpora(); err != nil {
				return sample{}, err
			}
			if builder, err = c.builder(); err != nil {
				return sample{}, err
			}
		}
		return build.run(ctx)
	}
	return &w
}

// writeBounds measures the parts and their bounds in rounds and writes a row for each part.
func writeBounds(ctx context.Context, o options, dir string, stdout, progress io.Writer) error {
	c, err := readCorpus(ctx, o)
	if err != nil {
		return err
	}
	made, file, err := c.records(ctx)
	if err != nil {
		return err
	}
	folder, err := store.Open(dir)
	if err != nil {
		return err
	}
	now := map[string]*work{}
	written := work{name: writingName, of: "records", bytes: int64(len(file))}.inside(func() (int64, error) {
		return int64(len(made)), writeNew(ctx, folder, file)
	})
	for _, w := range append(c.stages(), c.buildSome(len(made), int64(len(file))), written) {
		now[w.name] = w
	}
	if err := overwrite(filepath.Join(dir, "old"), file); err != nil { // the first time it is new
		return err
	}
	var works []*work
	parts := c.parts(made, file, dir)
	for _, p := range parts {
		ours := now[p.name]
		works = append(works, ours, work{name: "bound of " + p.name, of: ours.of, bytes: ours.bytes}.inside(p.bound))
	}
	rep := report{Machine: describe(), Inputs: inputs(o), Started: time.Now().UTC()}
	t := table{w: stdout}
	for _, p := range parts {
		t.expect(p.name, p.what)
	}
	ended := func(i int) error {
		if i%2 == 0 || o.json {
			return nil
		}
		return t.write(boundRow(parts[i/2], rep.Results[i-1], rep.Results[i]))
	}
	if !o.json {
		fmt.Fprintf(stdout, "\n%s;\ninput: %s\n\n", rep.title(o.rounds), strings.Join(rep.Inputs, ", "))
		t.write([]string{"part", "bound", "bound, ms", "now, ms", "ratio"})
	}
	if err := rep.measure(ctx, works, o.rounds, progress, ended); err != nil {
		return err
	}
	if o.json {
		return writeJSON(stdout, rep)
	}
	_, err = fmt.Fprintf(stdout, "\n%s\n", rep.loads())
	return err
}

// boundRow returns the row of a part. The ratio is taken within each round.
func boundRow(p part, now, bound *result) []string {
	ms := func(s sample) float64 { return float64(s.CPU) / float64(time.Millisecond) }
	var ratios []float64
	for i, s := range now.Samples {
		ratios = append(ratios, float64(s.CPU)/float64(bound.Samples[i].CPU))
	}
	return []string{p.name, p.what, figure(bound.spread(ms).Median), figure(now.spread(ms).Median), spreadOf(ratios).String()}
}
