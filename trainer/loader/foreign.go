package loader

import (
	"fmt"
	"path/filepath"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
)

// openForeign opens a folder of files of records that no manifest describes.
func openForeign(folder store.Folder, infos []store.Info, opts Options) (*Shards, error) {
	s := &Shards{folder: folder}
	any := false
	for _, info := range infos {
		if !isRecords(info.Name) {
			continue
		}
		any = true
		f := foreignFile(info, filepath.Join(folder.String(), info.Name))
		if opts.Split == "" || opts.Split == f.Split || opts.Split == sharding.Train && f.Split == "" {
			s.files = append(s.files, f)
		}
	}
	switch {
	case !any:
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

// isRecords tells files of records by their names, as their makers name them:
// create_pretraining_data.py's users (*.tfrecord), its README and TensorFlow's
// model garden (*.tf_record), its research models (*.record), and TensorFlow's
// own form of sharded names (part-00003-of-00500, as MLPerf's BERT data has).
func isRecords(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), sharding.GzipSuffix)
	stem, suffix := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		stem, suffix = name[:dot], name[dot+1:]
	}
	switch strings.TrimSuffix(suffix, "s") {
	case "tfrecord", "tf_record", "record":
		return stem != ""
	}
	return isSharded(name)
}

// isSharded recognises a name that ends in -NNNNN-of-NNNNN.
func isSharded(name string) bool {
	name, count, ok1 := cutLast(name, "-of-")
	_, index, ok2 := cutLast(name, "-")
	return ok1 && ok2 && isNumber(count) && isNumber(index)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func isNumber(s string) bool {
	return len(s) >= 5 && strings.Trim(s, "0123456789") == ""
}
