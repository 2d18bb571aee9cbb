package examples

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding"
	"pretext/tokenize"
)

// Converted gives access to a folder of converted shards.
type Converted struct {
	Folder  sharding.Folder
	Format  columns.Format
	Options sharding.ConvertOptions
	table   *columns.Table
}

// OpenConverted opens a folder of converted shards. m is its manifest. If the options in
// m do not name a known format, the error matches [sharding.ErrFormat].
func OpenConverted(folder sharding.Folder, m *sharding.Manifest) (*Converted, error) {
	var o sharding.ConvertOptions
	if err := m.DecodeOptions(folder, &o); err != nil {
		return nil, err
	}
	format, ok := formats.Get(o.Format)
	err := o.Validate()
	if err == nil && (!ok || !columns.Holds(format, o.Form)) {
		err = fmt.Errorf("%w: format %q of examples of the form %q", sharding.ErrFormat, o.Format, o.Form)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s in %s: %w", sharding.ManifestName, folder, err)
	}
	table, err := Table(o)
	return &Converted{Folder: folder, Format: format, Options: o, table: table}, err
}

// part returns the format's description of the shard with the given stem and side-car
// body. For formats that store words instead of ids, it reads the folder's vocabulary. If
// that file is invalid, the error matches [sharding.ErrFormat].
func (c *Converted) part(ctx context.Context, stem string, body sharding.ConvertBody) (columns.Part, error) {
	p := columns.Part{Stem: stem, Schema: c.table.Schema, Rows: body.Rows, Compression: c.Options.Compression, IDs: c.Options.VocabSize, Bounds: c.Options.Bins}
	if !c.Format.About().NeedsVocab {
		return p, nil
	}
	raw, err := store.ReadFile(ctx, c.Folder, sharding.VocabName)
	if err != nil {
		return p, err
	}
	if p.Vocab, err = tokenize.ReadVocab(sharding.VocabName, raw); err != nil {
		return p, fmt.Errorf("%w: %w", sharding.ErrFormat, err)
	}
	return p, nil
}

// Splits returns the parts of several folders of converted shards at one path. Each
// folder must be a different split of the same conversion; otherwise the error is a usage
// error.
func Splits(path string, folders []*sharding.Stage, manifests []*sharding.Manifest) (parts []Part, err error) {
	var names []string
	same := true
	for i, m := range manifests {
		c, err := OpenConverted(folders[i], m)
		if err != nil {
			return nil, err
		}
		if len(parts) > 0 {
			same = same && c.Format == parts[0].converted.Format && slices.Equal(m.Inputs, manifests[0].Inputs)
		}
		names = append(names, folders[i].Name)
		parts = append(parts, c.parts(m)...)
	}
	if !same {
		return nil, failure.Usagef("%s holds examples in several folders: name one of them: %s", path, strings.Join(names, ", "))
	}
	return parts, nil
}

// parts returns the shards of the folder. The number of examples of a shard is taken from
// the manifest entry of its first file.
func (c *Converted) parts(m *sharding.Manifest) (parts []Part) {
	at := map[string]int{}
	for _, e := range m.Files {
		name, ok := sharding.ParseShardName(e.Name)
		if !ok {
			continue
		}
		stem := name.String()
		i, known := at[stem]
		if !known {
			i = len(parts)
			at[stem] = i
			parts = append(parts, Part{Path: store.Join(c.Folder.String(), stem), Split: name.Split, converted: c, sideCar: name.SideCar()})
		}
		if e.Name == name.SideCar() {
			continue
		}
		parts[i].Bytes += e.Bytes
		parts[i].Count += sharding.Records.Of(e.Counts)
	}
	return parts
}

// rows yields the rows of a converted shard.
func (p Part) rows(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		body, err := sharding.ReadConvertBody(ctx, p.converted.Folder, p.sideCar)
		if err != nil {
			yield(Record{}, err)
			return
		}
		r := Record{Offset: -1}
		for payload, err := range p.converted.Payloads(ctx, p.sideCar, body) {
			if err != nil {
				yield(r, fmt.Errorf("%s: %w", p.converted.Folder, err))
				return
			}
			r.Payload = payload
			if !yield(r, nil) {
				return
			}
			r.Index++
		}
	}
}

// Payloads reads the files of a shard in their format. It yields each row as the record
// from which the row was made. Errors name the file without the folder.
func (c *Converted) Payloads(ctx context.Context, sideCar string, body sharding.ConvertBody) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		open := &opener{ctx: ctx, folder: c.Folder}
		defer open.close()
		var files []string
		for _, f := range body.Files {
			files = append(files, f.Name)
		}
		part, err := c.part(ctx, strings.TrimSuffix(sideCar, sharding.SideCarSuffix), body)
		if err != nil {
			yield(nil, err)
			return
		}
		var payload []byte
		for row, err := range c.Format.Rows(part, files, open.file) {
			if err == nil {
				payload = c.table.Example(row).AppendForm(payload[:0], c.Options.Form)
			}
			if !yield(payload, err) || err != nil {
				return
			}
		}
	}
}

// An opener opens files for a format and closes them together.
type opener struct {
	ctx    context.Context
	folder sharding.Folder
	files  []sharding.File
}

func (o *opener) file(name string) (io.ReaderAt, int64, error) {
	f, err := o.folder.Open(o.ctx, name)
	if err != nil {
		return nil, 0, sharding.Missing(store.Join(o.folder.String(), name), err)
	}
	o.files = append(o.files, f)
	return f, f.Size(), nil
}

func (o *opener) close() {
	for _, f := range o.files {
		f.Close()
	}
}
