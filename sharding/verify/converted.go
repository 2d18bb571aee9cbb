package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"

	"pretext/internal/store"
	"pretext/records/columns"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// A conversion is a folder of converted shards under check.
type conversion struct {
	*examples.Converted
	index string // name of the format's index; "" if the format has none
}

func newConversion(folder store.Folder, m *sharding.Manifest) (*conversion, error) {
	converted, err := examples.OpenConverted(folder, m)
	if err != nil {
		return nil, err
	}
	c := &conversion{Converted: converted}
	if indexer, ok := c.Format.(columns.Indexer); ok {
		c.index, _, _ = indexer.Index(nil)
	}
	return c, nil
}

// checkIndex compares the index of the format with the side-cars of all shards.
func (c *conversion) checkIndex(ctx context.Context, m *sharding.Manifest, r *fileReport) error {
	var files []columns.File
	for _, e := range m.Files { // sorted by name, which is the order of the shard numbers
		if _, ok := sharding.ParseShardName(e.Name); !ok || e.Name[len(e.Name)-len(sharding.SideCarSuffix):] != sharding.SideCarSuffix {
			continue
		}
		body, err := sharding.ReadConvertBody(ctx, c.Folder, e.Name)
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
	_, want, err := c.Format.(columns.Indexer).Index(files)
	if err != nil {
		return err
	}
	raw, err := store.ReadFile(ctx, c.Folder, c.index)
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
	body, err := sharding.ReadConvertBody(ctx, c.Folder, sideCar)
	if errors.Is(err, sharding.ErrFormat) {
		r.add(sharding.Problem{File: sideCar, Reason: err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	sum := sha256.New()
	for payload, err := range c.Payloads(ctx, sideCar, body) {
		switch {
		case errors.Is(err, columns.ErrCorrupt), errors.Is(err, sharding.ErrFormat), errors.Is(err, fs.ErrNotExist), errors.Is(err, sharding.ErrDamaged):
			r.add(sharding.Problem{File: sideCar, Reason: err.Error()})
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		sum.Write(payload)
		r.records++
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != body.ValuesSHA256 {
		r.add(sharding.Problem{File: sideCar, Reason: "the values in its files are not those that were converted (SHA-256)"})
	}
	return nil
}
