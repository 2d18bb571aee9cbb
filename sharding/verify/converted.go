package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pretext/internal/store"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

// A conversion is a folder of converted shards.
type conversion struct {
	folder store.Folder
	format columns.Format
	schema []columns.Column
	index  string // name of the format's index; "" if it has none
}

func newConversion(folder store.Folder, m *sharding.Manifest) (*conversion, error) {
	var o sharding.ConvertOptions
	if err := m.DecodeOptions(folder, &o); err != nil {
		return nil, err
	}
	format, ok := formats.Get(o.Format)
	if !ok || o.MaxSeqLength < 1 || o.MaxPredictionsPerSeq < 1 {
		return nil, fmt.Errorf("read %s in %s: %w: format %q with %d tokens and %d predictions",
			sharding.ManifestName, folder, sharding.ErrFormat, o.Format, o.MaxSeqLength, o.MaxPredictionsPerSeq)
	}
	c := &conversion{folder: folder, format: format, schema: columns.Examples(o.MaxSeqLength, o.MaxPredictionsPerSeq)}
	if indexer, ok := format.(columns.Indexer); ok {
		c.index, _, _ = indexer.Index(nil)
	}
	return c, nil
}

// checkIndex compares the index of the format with the side-cars of all shards.
func (c *conversion) checkIndex(ctx context.Context, m *sharding.Manifest, r *fileReport) error {
	var files []columns.File
	for _, e := range m.Files { // shards have numbers, so that the order of names is theirs
		if _, ok := sharding.ParseShardName(e.Name); !ok || e.Name[len(e.Name)-len(sharding.SideCarSuffix):] != sharding.SideCarSuffix {
			continue
		}
		body, err := sharding.ReadConvertBody(ctx, c.folder, e.Name)
		if errors.Is(err, sharding.ErrFormat) || errors.Is(err, fs.ErrNotExist) {
			return nil // reported with the side-car
		}
		if err != nil {
			return err
		}
		for _, f := range body.Files {
			files = append(files, columns.File{Name: f.Name, Info: f.Info})
		}
	}
	_, want, err := c.format.(columns.Indexer).Index(files)
	if err != nil {
		return err
	}
	raw, err := store.ReadFile(ctx, c.folder, c.index)
	if err != nil {
		return err
	}
	if !bytes.Equal(raw, want) {
		r.add(sharding.Problem{File: c.index, Reason: "not the list of the files that the side-cars describe"})
	}
	return nil
}

// checkRows reads the files of a shard in their format and compares the values
// with the hash in the shard's side-car.
func (c *conversion) checkRows(ctx context.Context, sideCar string, r *fileReport) error {
	body, err := sharding.ReadConvertBody(ctx, c.folder, sideCar)
	if errors.Is(err, sharding.ErrFormat) {
		r.add(sharding.Problem{File: sideCar, Reason: err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	var files []string
	for _, f := range body.Files {
		files = append(files, f.Name)
	}
	open := &opener{ctx: ctx, folder: c.folder}
	defer open.close()
	sum := sha256.New()
	var payload []byte
	stem := sideCar[:len(sideCar)-len(sharding.SideCarSuffix)]
	for row, err := range c.format.Rows(columns.Part{Stem: stem, Schema: c.schema, Rows: body.Rows}, files, open.file) {
		switch {
		case errors.Is(err, columns.ErrCorrupt), errors.Is(err, fs.ErrNotExist):
			r.add(sharding.Problem{File: sideCar, Reason: err.Error()})
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		payload = columns.Example(row).Append(payload[:0])
		sum.Write(payload)
		r.records++
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != body.ValuesSHA256 {
		r.add(sharding.Problem{File: sideCar, Reason: "the values in its files are not those that were converted (SHA-256)"})
	}
	return nil
}

// An opener opens files for a format and closes them together.
type opener struct {
	ctx    context.Context
	folder store.Folder
	files  []store.File
}

func (o *opener) file(name string) (io.ReaderAt, int64, error) {
	f, err := o.folder.Open(o.ctx, name)
	if err != nil {
		return nil, 0, err
	}
	o.files = append(o.files, f)
	return f, f.Size(), nil
}

func (o *opener) close() {
	for _, f := range o.files {
		f.Close()
	}
}
