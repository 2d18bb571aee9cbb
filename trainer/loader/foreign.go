package loader

import (
	"fmt"
	"path/filepath"

	"pretext/internal/store"
	"pretext/sharding"
)

// openForeign opens a folder of files of records that no manifest describes.
func openForeign(folder store.Folder, infos []store.Info, opts Options) (*Shards, error) {
	s := &Shards{folder: folder}
	ordinal := int64(-1)
	for _, info := range infos {
		if !sharding.IsRecords(info.Name) {
			continue
		}
		ordinal++
		f := foreignFile(info, filepath.Join(folder.String(), info.Name))
		f.ordinal = ordinal
		if opts.Split == "" || opts.Split == f.Split || opts.Split == sharding.Train && f.Split == "" {
			s.files = append(s.files, f)
		}
	}
	switch {
	case ordinal < 0:
		return nil, fmt.Errorf("%s: no files of records, and %w", folder, sharding.ErrUnfinished)
	case len(s.files) == 0:
		return nil, none(folder, opts)
	}
	return s, nil
}

func foreignFile(info store.Info, path string) File {
	name, _ := sharding.ParseShardName(info.Name)
	return File{Path: path, Split: name.Split, Bytes: info.Size, Records: -1, name: info.Name}
}
