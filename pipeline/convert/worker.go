package convert

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/internal/sumpair"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// worker converts shards.
type worker struct {
	*stage.Env
	options work
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *worker) SideCars(_ int, plan func(to any) error) ([]string, error) {
	var t task
	err := plan(&t)
	return []string{t.stem() + sharding.SideCarSuffix}, err
}

func (w *worker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t task
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	sideCar := t.stem() + sharding.SideCarSuffix
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		w.Meter.Add(t.Records)
		return results, err
	}
	table, err := examples.Table(w.options.ConvertOptions)
	if err != nil {
		return nil, err
	}
	c := conversion{worker: w, ctx: ctx, index: index, task: t, table: table}
	c.values = newSum(&c.sums)
	defer c.abort()
	files, err := c.run()
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", t.File, err)
	}
	car, err := c.sideCar(files)
	if err != nil {
		return nil, err
	}
	result, err := w.Prove(ctx, sideCar, car)
	return []stage.Result{result}, err
}

// sideCar returns the side-car of the shard that was written to files.
func (c *conversion) sideCar(files []columns.File) (car sharding.SideCar, err error) {
	body := sharding.ConvertBody{Rows: c.Records, ValuesSHA256: c.values.hex()}
	car.Task = c.index
	for i, f := range files {
		entry := c.entries[f.Name]
		if i == 0 {
			entry.Counts = c.counts
			car.File = entry
		} else {
			car.More = append(car.More, entry)
		}
		info, err := json.Marshal(f.Info)
		if err != nil {
			return car, err
		}
		body.Files = append(body.Files, sharding.ConvertedFile{Name: f.Name, Info: info})
	}
	car.Body, err = json.Marshal(body)
	return car, err
}

// A conversion converts one shard.
type conversion struct {
	*worker
	ctx   context.Context
	index int
	task
	table   *columns.Table
	open    []*stage.Output
	entries map[string]sharding.FileEntry // manifest entries of committed files, by name
	counts  sharding.Counts
	sums    sumpair.Meeting // of values and of the records file
	values  *sum            // hash of all payloads in the encoding of package records
}

func (c *conversion) abort() {
	for _, o := range c.open {
		o.Abort()
	}
}

// run writes the files of the shard.
func (c *conversion) run() ([]columns.File, error) {
	c.entries, c.counts = map[string]sharding.FileEntry{}, sharding.Counts{sharding.Records.Key: 0, recordTokens.Key: 0}
	folder, err := store.Open(c.Paths()[0])
	if err != nil {
		return nil, err
	}
	format, _ := formats.Get(c.options.Format) // always found, since the plan was validated
	p, err := c.part(format, folder)
	if err != nil {
		return nil, err
	}
	out, err := format.NewWriter(p, c.create)
	if err != nil {
		return nil, err
	}
	for _, s := range c.shares() {
		if err := c.copyShare(folder, s, out); err != nil {
			return nil, err
		}
	}
	return out.Close()
}

// copyShare writes what the shard has of a records file to out, and checks the content of
// the file.
func (c *conversion) copyShare(folder store.Folder, s share, out columns.Writer) error {
	in, err := folder.Open(c.ctx, s.File)
	if err != nil {
		return sharding.Missing(store.Join(folder.String(), s.File), err)
	}
	defer in.Close()
	sum := newSum(&c.sums)
	if err := c.copy(io.TeeReader(store.NewReader(in, 0), sum), s, out); err != nil {
		return err
	}
	if sum.hex() != s.SHA256 {
		return fmt.Errorf("%w: the content of %s differs from the manifest (SHA-256)", sharding.ErrDamaged, s.File)
	}
	return nil
}

// part returns the facts about the shard that a writer of the format needs. folder has the
// records files.
func (c *conversion) part(format columns.Format, folder store.Folder) (p columns.Part, err error) {
	o := c.options
	p = columns.Part{Stem: c.stem(), Schema: c.table.Schema, Rows: c.Records, Bounds: o.Bins, Compression: o.Compression,
		IDs: o.VocabSize, Scratch: func() (columns.Scratch, error) { return c.TempFile() }}
	if format.About().NeedsVocab {
		if p.Vocab, err = c.vocab(); err != nil {
			return p, err
		}
	}
	if format.About().NeedsTotals && columns.Variable(p.Schema) {
		p.Totals, err = c.totals(folder, len(p.Schema))
	}
	return p, err
}

// vocab returns the vocabulary of the shards and checks that it is the one in the plan.
func (w *worker) vocab() (*vocabulary, error) {
	v, err := w.Share(func() (any, error) {
		planned := w.options.Vocabulary
		return readVocab(context.Background(), w.Paths()[0], planned.Name, planned.SHA256)
	})
	if err != nil {
		return nil, err
	}
	return v.(*vocabulary), nil
}

// copy writes the examples of a share of a records file to out.
func (c *conversion) copy(in io.Reader, s share, out columns.Writer) error {
	var payload, buf, restored []byte
	takes := s.taker(c.options.Bins)
	err := c.each(in, s, func(e *records.Example, canonical []byte, row []columns.Value) error {
		if !takes(e) {
			return nil
		}
		if payload = canonical; payload == nil {
			buf = e.AppendForm(buf[:0], c.options.Form)
			payload = buf
		}
		if c.options.Consumer != "" {
			// Records of other tools may have masks that labels lose: predictions with
			// other weights than 0 and 1, or in another order.
			restored = c.table.Example(row).AppendForm(restored[:0], c.options.Form)
			if !bytes.Equal(payload, restored) {
				return failure.Usagef("record %d: the columns for %s cannot hold its masks or segments: write it with --to %s", sharding.Records.Of(c.counts), c.options.Consumer, c.options.Format)
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
		c.values.Write(payload)
		sharding.Records.Add(c.counts, 1)
		recordTokens.Add(c.counts, int64(e.Tokens()))
		c.Meter.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in) // also hash the bytes after the last record of a gzip stream
	return err
}

// totals returns the number of values of each column in all examples of the records
// file.
func (c *conversion) totals(folder store.Folder, columnCount int) ([]int64, error) {
	in, err := folder.Open(c.ctx, c.File)
	if err != nil {
		return nil, sharding.Missing(store.Join(folder.String(), c.File), err)
	}
	defer in.Close()
	totals := make([]int64, columnCount)
	return totals, c.each(store.NewReader(in, 0), c.shares()[0], func(_ *records.Example, _ []byte, row []columns.Value) error {
		for i, v := range row {
			totals[i] += int64(len(v.Ints) + len(v.Floats))
		}
		return nil
	})
}

// each calls do for each example of a records file. canonical is its payload if that is
// known to be in the encoding of package records, else nil. each returns an error if the
// number or the lengths of the records differ from the plan.
func (c *conversion) each(in io.Reader, s share, do func(e *records.Example, canonical []byte, row []columns.Value) error) error {
	r := tfrecord.NewReader(in, tfrecord.ReaderOptions{})
	var example records.Example
	for n := int64(0); ; n++ {
		var canonical bool
		raw, err := r.Next()
		if err == io.EOF && n != s.Records {
			return fmt.Errorf("%w: %d records, the manifest says %d", sharding.ErrDamaged, n, s.Records)
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			canonical, err = example.DecodeCanonical(c.options.Form, raw)
			err = cmp.Or(err, c.ctx.Err())
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		row := c.table.Row(&example)
		err = columns.CheckRow(c.table.Schema, row)
		if errors.Is(err, columns.ErrRange) {
			return failure.Usagef("record %d: %w: give a wider type of integers", n, err)
		}
		if n == s.Records || err != nil {
			return fmt.Errorf("%w: record %d: its lengths or their number differ from the manifest", sharding.ErrDamaged, n)
		}
		if !canonical {
			raw = nil
		}
		if err := do(&example, raw, row); err != nil {
			return err
		}
	}
}

// create begins a file of the shard.
func (c *conversion) create(name string) (io.WriteCloser, error) {
	o, err := c.Create(c.ctx, name)
	if err != nil {
		return nil, err
	}
	c.open = append(c.open, o)
	return &output{o, c, name}, nil
}

// An output commits a file when it is closed.
type output struct {
	*stage.Output
	c    *conversion
	name string
}

func (o *output) Close() error {
	if err := o.c.Commit(o.c.ctx, o.Output); err != nil {
		return err
	}
	o.c.entries[o.name] = o.Entry(o.c.index, nil)
	return nil
}

// Finish writes the copy of the vocabulary with its files for AutoTokenizer, the index if
// the format has one, and the manifest.
func (w *worker) Finish(ctx context.Context, results []stage.Result) error {
	var m sharding.Manifest
	if w.options.Vocabulary != nil {
		v, err := w.vocab()
		if err != nil {
			return err
		}
		entry, err := w.Write(ctx, w.options.Vocabulary.Name, v.raw)
		if err != nil {
			return err
		}
		if m.Files, err = w.WriteTokenizer(ctx, w.made(v), v.raw); err != nil {
			return err
		}
		m.Files = append(m.Files, entry)
	}
	var files []columns.File
	empty := map[string]bool{}
	for _, r := range results { // in the order of tasks
		body, err := sharding.ReadConvertBody(ctx, w.Folder, r.SideCar)
		if err != nil {
			return err
		}
		for _, f := range body.Files {
			files = append(files, columns.File{Name: f.Name, Info: f.Info})
			empty[f.Name] = body.Rows == 0
		}
	}
	index, err := w.index(ctx, files)
	if err != nil {
		return err
	}
	m.Files = append(m.Files, index...)
	if _, err := w.Write(ctx, sharding.ReaderName, readerFile(files, empty, results)); err != nil {
		return err
	}
	return w.Manifest(ctx, results, m)
}

// index writes the index of the format, if it has one.
func (w *worker) index(ctx context.Context, files []columns.File) (entries []sharding.FileEntry, err error) {
	format, _ := formats.Get(w.options.Format)
	indexer, ok := format.(columns.Indexer)
	if !ok {
		return nil, nil
	}
	name, content, err := indexer.Index(files)
	if err != nil {
		return nil, err
	}
	entry, err := w.Write(ctx, name, content)
	return []sharding.FileEntry{entry}, err
}

// readerFile returns the content of [sharding.ReaderName] for converted files. The
// side-cars, which results list, have the hashes of the files. Of a split with empty HDF5
// files, the others are listed: load_dataset fails at a file without rows.
func readerFile(files []columns.File, empty map[string]bool, results []stage.Result) []byte {
	content := sha256.New()
	for _, r := range results {
		io.WriteString(content, r.SHA256)
	}
	var splits []string
	suffix := ""
	for _, f := range files {
		name, _ := sharding.ParseShardName(f.Name)
		if !slices.Contains(splits, name.Split) {
			splits = append(splits, name.Split)
		}
		suffix = path.Ext(f.Name)
	}
	if stem, _, binned := strings.Cut(suffix, "_"); binned {
		suffix = stem + "_*"
	}
	listed := map[string][]string{}
	for _, split := range splits {
		var full []string
		some := false
		for _, f := range files {
			if name, _ := sharding.ParseShardName(f.Name); name.Split != split {
				continue
			}
			if some = some || empty[f.Name]; !empty[f.Name] {
				full = append(full, f.Name)
			}
		}
		if some && suffix == ".hdf5" {
			listed[split] = full
		}
	}
	return sharding.ReaderFile(splits, suffix, hex.EncodeToString(content.Sum(nil)), listed)
}

// made returns the options with which the examples were tokenized. Without a manifest of
// the examples, the vocabulary v tells whether text is lower-cased.
func (w *worker) made(v *vocabulary) (o sharding.ExamplesOptions) {
	if w.options.Examples != nil && json.Unmarshal(w.options.Examples, &o) == nil {
		return o
	}
	o = sharding.DefaultExamplesOptions()
	if v.Vocab == nil {
		o.Tokenizer = &sharding.TokenizerInfo{}
	} else {
		o.DoLowerCase = v.LooksUncased()
	}
	return o
}
