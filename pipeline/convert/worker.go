package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// worker converts shards.
type worker struct {
	*stage.Env
	options sharding.ConvertOptions
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
	c := conversion{worker: w, ctx: ctx, index: index, task: t, values: sha256.New()}
	defer c.abort()
	files, err := c.run()
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", t.File, err)
	}
	body := sharding.ConvertBody{Rows: t.Records, ValuesSHA256: hex.EncodeToString(c.values.Sum(nil))}
	car := sharding.SideCar{Task: index}
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
			return nil, err
		}
		body.Files = append(body.Files, sharding.ConvertedFile{Name: f.Name, Info: info})
	}
	if car.Body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	result, err := w.Prove(ctx, sideCar, car)
	return []stage.Result{result}, err
}

// A conversion converts one shard.
type conversion struct {
	*worker
	ctx   context.Context
	index int
	task
	open    []*stage.Output
	entries map[string]sharding.FileEntry // of committed files
	counts  sharding.Counts
	values  hash.Hash // of all payloads, as package records writes them
}

func (c *conversion) abort() {
	for _, o := range c.open {
		o.Abort()
	}
}

// run writes the files of the shard.
func (c *conversion) run() ([]columns.File, error) {
	c.entries, c.counts = map[string]sharding.FileEntry{}, sharding.Counts{"records": 0, "record_tokens": 0}
	p := columns.Part{Stem: c.stem(), Schema: columns.Examples(c.options.MaxSeqLength, c.options.MaxPredictionsPerSeq), Rows: c.Records}
	format, _ := formats.Get(c.options.Format) // a known one: the plan was validated
	out, err := format.NewWriter(p, c.create)
	if err != nil {
		return nil, err
	}
	folder, err := store.Open(c.Paths()[0])
	if err != nil {
		return nil, err
	}
	in, err := folder.Open(c.ctx, c.File)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	sum := sha256.New()
	if err := c.copy(io.TeeReader(store.NewReader(in, 0), sum), out); err != nil {
		return nil, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != c.SHA256 {
		return nil, fmt.Errorf("%w: its content differs from the manifest (SHA-256)", sharding.ErrDamaged)
	}
	return out.Close()
}

// copy writes the examples of a records file.
func (c *conversion) copy(in io.Reader, out columns.Writer) error {
	r := tfrecord.NewReader(in, tfrecord.ReaderOptions{})
	var example records.Example
	var row []columns.Value
	var payload []byte
	var n int64
	for ; ; n++ {
		raw, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = errors.Join(example.Decode(raw), c.ctx.Err())
		}
		if err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		if n == c.Records || len(example.InputIDs) != c.options.MaxSeqLength || len(example.MaskedLMPositions) != c.options.MaxPredictionsPerSeq {
			return fmt.Errorf("%w: record %d is not of the number and lengths that the manifest gives", sharding.ErrDamaged, n)
		}
		row = columns.Row(&example, row[:0])
		if err := out.Write(row); err != nil {
			return err
		}
		payload = example.Append(payload[:0])
		c.values.Write(payload)
		c.counts["record_tokens"] += int64(example.Tokens())
		c.Meter.Add(1)
	}
	c.counts["records"] = n
	if n != c.Records {
		return fmt.Errorf("%w: %d records, the manifest says %d", sharding.ErrDamaged, n, c.Records)
	}
	_, err := io.Copy(io.Discard, in) // to hash what follows the last record of a gzip stream
	return err
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

// Finish writes the index of the format, if it has one, and the manifest.
func (w *worker) Finish(ctx context.Context, results []stage.Result) error {
	format, _ := formats.Get(w.options.Format)
	indexer, ok := format.(columns.Indexer)
	if !ok {
		return w.Manifest(ctx, results, sharding.Manifest{})
	}
	var files []columns.File
	for _, r := range results { // in the order of tasks
		body, err := sharding.ReadConvertBody(ctx, w.Folder, r.SideCar)
		if err != nil {
			return err
		}
		for _, f := range body.Files {
			files = append(files, columns.File{Name: f.Name, Info: f.Info})
		}
	}
	name, content, err := indexer.Index(files)
	if err != nil {
		return err
	}
	entry, err := w.Write(ctx, name, content)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Files: []sharding.FileEntry{entry}})
}
