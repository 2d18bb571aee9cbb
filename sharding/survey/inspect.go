package survey

import (
	"context"
	"encoding/json"

	"pretext/extract/wiki/facts"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// An Inspection describes a stage's folder, or TFRecord files without a manifest.
type Inspection struct {
	Path        string           `json:"path"`
	Stage       string           `json:"stage,omitempty"` // "" for a file without a manifest
	Fingerprint string           `json:"fingerprint,omitempty"`
	Options     json.RawMessage  `json:"options,omitempty"`
	Inputs      []sharding.Input `json:"inputs,omitempty"`
	Counts      sharding.Counts  `json:"counts,omitempty"`

	// Dropped lists templates without text, the most used first.
	Dropped *facts.DroppedTemplates `json:"dropped_templates,omitempty"`

	Warnings []sharding.DescribedWarning `json:"warnings,omitempty"`

	Files    []FileInspection    `json:"files"`
	Features []FeatureInspection `json:"features,omitempty"` // totals over all records
}

// A FileInspection describes a data file.
type FileInspection struct {
	Name        string          `json:"name"`
	Bytes       int64           `json:"bytes"`
	SHA256      string          `json:"sha256,omitempty"`
	Compression string          `json:"compression,omitempty"`
	Records     int64           `json:"records,omitempty"`
	Counts      sharding.Counts `json:"counts,omitempty"`
}

// A FeatureInspection describes the values of one feature in all records. By comparing
// Sum, another reader can check that it has read the same values.
type FeatureInspection struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`
	Records int64   `json:"records"` // number of records with the feature
	Least   int     `json:"least"`   // minimum number of values in a record
	Most    int     `json:"most"`
	Values  int64   `json:"values"`
	Sum     float64 `json:"sum"` // sum of the values; for byte strings, sum of their lengths
}

// Inspect returns an Inspection for each stage of the data set at a path, or one for all
// TFRecord files without a manifest. If values is set, or if there is no manifest, it
// also reads all records and describes their features.
func Inspect(ctx context.Context, path string, values bool) ([]Inspection, error) {
	d, err := sharding.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	var all []Inspection
	stages, err := d.Data(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range stages {
		one, err := inspectStage(ctx, s, values)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(d.Records) > 0 {
		one, err := inspectFiles(ctx, path, d.Records)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func inspectStage(ctx context.Context, s *sharding.Stage, values bool) (Inspection, error) {
	m, err := sharding.ReadManifest(ctx, s)
	if err != nil {
		return Inspection{}, err
	}
	in := Inspection{Path: s.String(), Stage: m.Stage, Fingerprint: m.Fingerprint, Options: m.Options, Inputs: m.Inputs, Counts: m.Counts, Dropped: m.Dropped, Warnings: m.Describe()}
	for _, e := range m.Files {
		if len(e.Counts) > 0 {
			in.Files = append(in.Files, FileInspection{Name: e.Name, Bytes: e.Bytes, SHA256: e.SHA256, Counts: e.Counts, Records: sharding.Records.Of(e.Counts)})
		}
	}
	if !values {
		return in, nil
	}
	sums := newFeatureSums()
	parts, err := examples.Of(ctx, s, m)
	if err != nil {
		return in, err
	}
	for _, part := range parts {
		if _, err := sums.part(ctx, part); err != nil {
			return in, err
		}
	}
	in.Features = sums.list
	return in, nil
}

// inspectFiles describes TFRecord files without a manifest.
func inspectFiles(ctx context.Context, path string, files []string) (Inspection, error) {
	in := Inspection{Path: path, Counts: sharding.Counts{}}
	parts, err := examples.Files(ctx, files)
	if err != nil {
		return in, err
	}
	sums := newFeatureSums()
	for _, part := range parts {
		file := part.Path
		n, err := sums.part(ctx, part)
		if err != nil {
			return in, err
		}
		compression, err := compressionOf(ctx, file)
		if err != nil {
			return in, err
		}
		bytes, sum, err := hashPath(ctx, file)
		if err != nil {
			return in, err
		}
		sharding.Records.Add(in.Counts, n)
		in.Files = append(in.Files, FileInspection{Name: store.Base(file), Bytes: bytes, SHA256: sum, Compression: compression, Records: n})
	}
	in.Features = sums.list
	return in, nil
}

// compressionOf returns the name of a TFRecord file's compression, see
// [tfrecord.Uncompressed].
func compressionOf(ctx context.Context, path string) (string, error) {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, compression, err := tfrecord.Uncompressed(store.NewReader(f, 0))
	return compression, err
}

func hashPath(ctx context.Context, path string) (int64, string, error) {
	folder, err := store.Open(store.Dir(path))
	if err != nil {
		return 0, "", err
	}
	return sharding.HashFile(ctx, folder, store.Base(path))
}

// featureSums collects descriptions of features, in the order of their first occurrence.
type featureSums struct {
	list   []FeatureInspection
	index  map[string]int
	ints   []int64
	floats []float32
	bytes  [][]byte
}

func newFeatureSums() *featureSums { return &featureSums{index: map[string]int{}} }

// part adds the features of all records of a part and returns their number.
func (s *featureSums) part(ctx context.Context, p examples.Part) (n int64, err error) {
	for r, err := range p.Records(ctx) {
		if err != nil {
			return n, err
		}
		for feature, err := range records.Features(r.Payload) {
			if err != nil {
				return n, p.Fault(r, err)
			}
			s.add(feature)
		}
		n++
	}
	return n, nil
}

func (s *featureSums) add(f records.Feature) {
	i, ok := s.index[f.Name]
	if !ok {
		i = len(s.list)
		s.index[f.Name] = i
		s.list = append(s.list, FeatureInspection{Name: f.Name, Kind: f.Kind.String(), Least: 1 << 30})
	}
	var n int
	to := &s.list[i]
	s.ints, s.floats, s.bytes = f.AppendInts(s.ints[:0]), f.AppendFloats(s.floats[:0]), f.AppendBytes(s.bytes[:0])
	n = len(s.ints) + len(s.floats) + len(s.bytes)
	for _, v := range s.ints {
		to.Sum += float64(v)
	}
	for _, v := range s.floats {
		to.Sum += float64(v)
	}
	for _, v := range s.bytes {
		to.Sum += float64(len(v))
	}
	to.Records++
	to.Values += int64(n)
	to.Least, to.Most = min(to.Least, n), max(to.Most, n)
}
