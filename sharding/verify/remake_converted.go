package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"pretext/internal/failure"
	"pretext/sharding"
)

// ofConverted finds the documents of a folder of converted shards. If the data set
// contains the original shards, it uses their documents. Otherwise it uses the documents
// in the data set, because the manifest of converted shards does not identify documents.
// It returns nil if the rows of all shards were divided anew and the original shards are in
// the data set.
func (f *remakeFinder) ofConverted(ctx context.Context, s madeFolder) (*remakeSource, error) {
	var o sharding.ConvertOptions
	if err := s.manifest.DecodeOptions(s, &o); err != nil {
		return nil, err
	}
	source := &remakeSource{stage: s.Stage, manifest: s.manifest, split: o.Split}
	if o.Examples == nil {
		return nil, failure.Usagef("%s: its manifest has no options of examples (it was converted of files without a manifest, or by an earlier version), so its shards cannot be made again: leave out --remake", s)
	}
	if err := json.Unmarshal(o.Examples, &source.made); err != nil {
		return nil, fmt.Errorf("read %s in %s: %w: %v", sharding.ManifestName, s, sharding.ErrFormat, err)
	}
	for _, shards := range f.all {
		of := slices.ContainsFunc(s.manifest.Inputs, func(in sharding.Input) bool { return in.SHA256 == shards.sum })
		if shards.manifest.Stage != sharding.StageExamples || !of {
			continue
		}
		if o.Bins != nil {
			return nil, nil // the shards themselves are made again
		}
		made, err := f.ofShards(ctx, shards)
		if made == nil || err != nil {
			return nil, err
		}
		source.documents, source.tasks = made.documents, made.tasks
		return source, source.findParts(ctx)
	}
	if o.Bins != nil {
		return nil, failure.Usagef("%s: the rows of all shards were divided anew in it, so its files are not those of shards: verify the shards that it was converted from, or leave out --remake", s)
	}
	if err := f.deal(ctx, source); err != nil {
		return nil, err
	}
	return source, source.findParts(ctx)
}

// deal assigns the available documents to the shards of source: those that the user
// named, or else those in the data set.
func (f *remakeFinder) deal(ctx context.Context, source *remakeSource) error {
	folders := f.documents()
	if len(f.given) > 0 {
		folders = f.given
	}
	switch {
	case source.made.Mix != nil:
		return failure.Usagef("%s: made with a mix, whose counts are only next to the TFRecord shards: verify the run that has the TFRecord shards", source.stage)
	case len(folders) == 0:
		return failure.Usagef("%s: neither the source shards nor their documents are next to it: give the folders of the documents with --documents DIR, in the order in which they were read", source.stage)
	case len(folders) > 1 && len(f.given) == 0:
		return failure.Usagef("%s: the source shards are not next to it, and there are several folders of documents: give the folders from which the shards were made with --documents DIR", source.stage)
	}
	for _, d := range folders {
		source.documents = append(source.documents, d.String())
	}
	inputs, err := sharding.OpenDocuments(ctx, source.documents)
	if err != nil {
		return err
	}
	plan, err := sharding.Assign(inputs, source.made)
	if err != nil {
		return failure.Usage(fmt.Errorf("%s: not made of the documents in %s: %w", source.stage, source.documents[0], err))
	}
	source.tasks = func(_ context.Context, shard int) (sharding.ShardTask, error) { return plan.Task(shard), nil }
	return nil
}
