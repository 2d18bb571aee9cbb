// Package export writes the documents or examples of a data set as text.
package export

import (
	"bufio"
	"context"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/sharding"
	"pretext/tokenize/sentence"
)

// Config configures [Text].
type Config struct {
	Shards    string   // path of the folder of shards
	Documents []string // paths of the documents folders of the shards, in order; nil: those in the same run
	Out       string   // directory of the text files
}

// A File is one split of a shard as text.
type File struct {
	Name       string `json:"name"`
	RandomSeed int64  `json:"random_seed"` // random_seed with which this text yields the records of the shard
	Documents  int64  `json:"documents"`
	Sentences  int64  `json:"sentences"`
}

// Text writes the documents of every shard as text, one file for each split, in the input
// format of create_pretraining_data.py. From a file and its seed, that script makes
// exactly the records of the shard. So does prepare-data examples with one shard.
func Text(ctx context.Context, c Config) ([]File, error) {
	in, err := store.Open(c.Shards)
	if err != nil {
		return nil, err
	}
	m, err := sharding.ReadManifest(ctx, in)
	if err != nil {
		return nil, err
	}
	var o sharding.ExamplesOptions
	if m.Stage != "examples" {
		return nil, failure.Usagef("%s contains the output of stage %q, want a folder of shards", c.Shards, m.Stage)
	}
	if err := m.DecodeOptions(in, &o); err != nil {
		return nil, err
	}
	// The documents folders of the shards: those in c, or else imported/ in the shards'
	// folder, or documents/ of the run. Their manifests must be the inputs of the shards.
	locations := c.Documents
	for _, at := range locations {
		if err := checkDocuments(ctx, at); err != nil {
			return nil, err
		}
	}
	if len(locations) == 0 {
		for _, dir := range []string{store.Join(c.Shards, sharding.ImportedFolder), store.Join(store.Dir(store.Absolute(c.Shards)), sharding.DocumentsFolder)} {
			if _, err := sharding.OpenDocumentsFolder(ctx, dir); err == nil {
				locations = []string{dir}
				break
			}
		}
	}
	inputs, err := sharding.OpenDocuments(ctx, locations)
	if err != nil {
		return nil, err
	}
	want := m.Inputs[:len(m.Inputs)-1] // the last is the vocabulary
	if len(inputs) != len(want) {
		return nil, failure.Usagef("%s was made from %d documents folders, but %d are given: name them with --documents, in order", c.Shards, len(want), len(inputs))
	}
	for i, in := range inputs {
		if in.Input != want[i] {
			return nil, failure.Usagef("%s is not the documents folder that %s was made from", locations[i], c.Shards)
		}
	}

	var list []string
	for i := range o.Shards {
		for _, split := range o.Splits() {
			list = append(list, fileOf(sharding.ShardName{Split: split, Index: i, Count: o.Shards}))
		}
	}
	var files []File
	err = into(ctx, c.Out, list, func(out store.Folder) (err error) {
		files, err = exporter{out, o, locations}.all(ctx, in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// fileOf returns the name of the text file of a shard.
func fileOf(name sharding.ShardName) string { return name.String() + ".txt" }

// checkDocuments returns a usage error if there is no folder of a stage at a location.
func checkDocuments(ctx context.Context, location string) error {
	info, err := store.Stat(ctx, location)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return failure.Usagef("--documents %s is a file: give the folder of documents that it is in", location)
	}
	for _, name := range []string{sharding.ManifestName, sharding.PlanName} {
		if _, err := store.Stat(ctx, store.Join(location, name)); err == nil {
			return nil
		}
	}
	return failure.Usagef("--documents %s: no %s in it: give a folder of documents", location, sharding.ManifestName)
}

// An exporter writes the documents of shards as text.
type exporter struct {
	out       store.Folder
	options   sharding.ExamplesOptions
	locations []string // paths of the documents folders
}

// all writes the documents of all shards in the folder in.
func (x exporter) all(ctx context.Context, in store.Folder) (files []File, err error) {
	in = store.Cached(in) // each shard reads the file of tasks
	for i := range x.options.Shards {
		var t sharding.ShardTask
		if err := sharding.ReadTask(ctx, in, i, &t); err != nil {
			return nil, err
		}
		for _, split := range x.options.Splits() {
			f, err := x.split(ctx, sharding.ShardName{Split: split, Index: i, Count: x.options.Shards}, t)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// split writes the documents of one split of a shard.
func (x exporter) split(ctx context.Context, name sharding.ShardName, t sharding.ShardTask) (File, error) {
	f := File{Name: fileOf(name), RandomSeed: name.Seed(x.options.RandomSeed)}
	file, err := x.out.Create(ctx, f.Name)
	if err != nil {
		return f, err
	}
	defer file.Abort()
	w := bufio.NewWriterSize(file, 1<<20)
	s := sentence.NewLanguageSplitter(x.options.SentenceSplitter)
	for doc, err := range t.Documents(ctx, x.options, x.locations, func(int64) {}) {
		if err != nil {
			return f, err
		}
		if x.options.HeldOut(doc.SplitID()) != (name.Split == sharding.Eval) {
			continue
		}
		for line, err := range s.Sentences(doc.Text, doc.Lang) {
			if err != nil {
				return f, err
			}
			w.Write(line)
			w.WriteByte('\n')
			f.Sentences++
		}
		w.WriteByte('\n')
		f.Documents++
	}
	if err := w.Flush(); err != nil {
		return f, err
	}
	return f, file.Replace(nil)
}
