package loader

import (
	"context"

	"pretext/internal/store"
	"pretext/sharding"
)

// openForeign opens a folder of third-party records files, which has no
// manifest. A file whose name gives no split belongs to train.
func openForeign(ctx context.Context, d *sharding.Dataset, opts Options) (*Shards, error) {
	folder, err := store.Open(d.Path)
	if err != nil {
		return nil, err
	}
	s := &Shards{folder: folder}
	for i, path := range d.Records {
		info, err := folder.Stat(ctx, store.Base(path))
		if err != nil {
			return nil, err
		}
		f := foreignFile(path, info.Size())
		f.ordinal = int64(i)
		if opts.Split == "" || opts.Split == f.Split || opts.Split == sharding.Train && f.Split == "" {
			s.files = append(s.files, f)
		}
	}
	if len(s.files) == 0 {
		return nil, none(folder, opts)
	}
	return s, nil
}

func foreignFile(path string, bytes int64) File {
	base := store.Base(path)
	name, _ := sharding.ParseShardName(base)
	return File{Path: path, Split: name.Split, Bytes: bytes, Records: -1, name: base}
}
