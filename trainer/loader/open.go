package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pretext/internal/store"
	"pretext/records"
	"pretext/sharding"
	"pretext/sharding/examples"
	"pretext/tokenize"
)

// Options configures [Open].
type Options struct {
	// Split is the split to read: [sharding.Train], [sharding.Eval], or "" for
	// both. Third-party files belong to train, unless they are named
	// eval-NNNNN-of-NNNNN. A path to a single file is read whatever its split.
	Split string `json:"split"`

	// Verify makes Open compare the SHA-256 of every listed file with the
	// manifest, which takes about a second for each GB.
	Verify bool `json:"verify"`

	// First, if above 0, is the number of examples that will be read. Open then reads the
	// manifest only as far as these need, returns no other files, and does not look at the
	// files themselves. Without it, Open compares the size of each listed file with the
	// manifest. The size of a file is also compared when it is read.
	First int `json:"first,omitempty"`
}

// Validate returns an error if an option is invalid.
func (o Options) Validate() error {
	switch o.Split {
	case "", sharding.Train, sharding.Eval:
		return nil
	}
	return fmt.Errorf("split %q: must be %q, %q or empty", o.Split, sharding.Train, sharding.Eval)
}

// Shards are the records files that [Open] found.
type Shards struct {
	folder   sharding.Folder
	manifest *sharding.Manifest       // of shards of TFRecord; nil for converted and third-party files
	made     sharding.ExamplesOptions // options that the examples were made with; zero for third-party files
	form     records.Form             // of every record; not ""
	lower    *bool                    // do_lower_case in the manifest; nil if it is absent
	files    []File
}

// A File is one records file.
type File struct {
	Path    string // path that the caller can open
	Split   string // [sharding.Train], [sharding.Eval], or "" if the name gives no split
	Bytes   int64  // on disk
	Records int64  // from the manifest; -1 without one

	name    string         // file name in the folder
	copied  *copied        // its cache files; nil: not cached
	part    *examples.Part // a shard in the format of another library; nil: a records file
	ordinal int64          // index of the file among all records files of the folder (both splits), sorted by name
}

// Open finds the records at a path, as the package comment describes, and
// checks them against the manifest. The error matches [fs.ErrNotExist] if the
// path does not exist, [sharding.ErrUnfinished] if a folder is neither finished
// nor third-party, [sharding.ErrNoShards] if there are no examples, and [sharding.ErrDamaged] if
// the files differ from the manifest.
func Open(ctx context.Context, path string, opts Options) (*Shards, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open shards: %w", err)
	}
	d, err := sharding.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	folder, err := d.Shards(ctx)
	converted, convertedErr := examples.Open(ctx, d)
	var s *Shards
	switch {
	case convertedErr != nil:
		return nil, convertedErr
	case len(converted) > 0:
		return openConverted(d, converted, opts)
	case err == nil:
		return openFolder(ctx, folder, opts)
	case len(d.Records) == 1 && d.Records[0] == path:
		s, err = openFile(ctx, path)
	case len(d.Records) > 0:
		s, err = openForeign(ctx, d, opts)
	}
	if err != nil {
		return nil, err
	}
	return s, s.sniff(ctx)
}

// manifest reads the manifest of a folder of shards, as far as it is needed.
func (o Options) manifest(ctx context.Context, folder sharding.Folder) (*sharding.Manifest, error) {
	if o.First == 0 {
		return sharding.ReadManifest(ctx, folder)
	}
	m, err := sharding.ReadManifestHead(ctx, folder)
	if err != nil {
		return nil, err
	}
	var needed []sharding.FileEntry
	var have int64
	for e, err := range m.EachFile(ctx, folder) {
		if err != nil {
			return nil, err
		}
		needed = append(needed, e)
		if n, ok := sharding.ParseShardName(e.Name); ok && (o.Split == "" || o.Split == n.Split) {
			have += sharding.Records.Of(e.Counts) // only files of records have these counts
		}
		if have >= int64(o.First) {
			break
		}
	}
	m.Files = needed
	return m, nil
}

// openFile opens a single records file.
func openFile(ctx context.Context, path string) (*Shards, error) {
	folder, err := store.Open(store.Dir(path))
	if err != nil {
		return nil, err
	}
	f, err := folder.Open(ctx, store.Base(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return &Shards{folder: folder, files: []File{foreignFile(path, f.Size())}}, nil
}

// openFolder opens a folder of shards by its manifest.
func openFolder(ctx context.Context, folder sharding.Folder, opts Options) (*Shards, error) {
	m, err := opts.manifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	if m.Stage != sharding.StageExamples {
		return nil, fmt.Errorf("%s %w: its stage is %q: give the folder of shards that prepare-data examples or run writes", folder, sharding.ErrNoShards, m.Stage)
	}
	s := &Shards{folder: folder, manifest: m}
	if err := s.readOptions(m.Options); err != nil {
		return nil, fmt.Errorf("read %s in %s: %w: %w", sharding.ManifestName, folder, sharding.ErrFormat, err)
	}
	if opts.First == 0 {
		if err := sharding.CheckFiles(ctx, s.folder, s.manifest.Files, opts.Verify); err != nil {
			return nil, err
		}
	}
	for i, e := range m.RecordFiles() {
		n, _ := sharding.ParseShardName(e.Name)
		if opts.Split == "" || opts.Split == n.Split {
			s.files = append(s.files, File{Path: store.Join(folder.String(), e.Name), Split: n.Split,
				Bytes: e.Bytes, Records: sharding.Records.Of(e.Counts), name: e.Name, ordinal: int64(i)})
		}
	}
	if len(s.files) == 0 {
		return nil, none(folder, opts)
	}
	return s, nil
}

func none(folder sharding.Folder, opts Options) error {
	if opts.Split == "" {
		return fmt.Errorf("%s %w", folder, sharding.ErrNoShards)
	}
	return fmt.Errorf("%s %w of the split %q", folder, sharding.ErrNoShards, opts.Split)
}

// readOptions sets s.made, s.form and s.lower from the options of a folder of shards.
func (s *Shards) readOptions(options json.RawMessage) error {
	s.made = sharding.DefaultExamplesOptions()
	s.made.MaxSeqLength, s.made.MaxPredictionsPerSeq = 0, 0 // must be in the manifest
	stated := struct {
		*sharding.ExamplesOptions
		DoLowerCase *bool `json:"do_lower_case"`
	}{&s.made, nil}
	if err := json.Unmarshal(options, &stated); err != nil {
		return err
	}
	if s.lower = stated.DoLowerCase; s.lower != nil {
		s.made.DoLowerCase = *s.lower
	}
	s.form = s.made.Form()
	if s.made.MaxSeqLength < 1 && !s.form.Documents() || s.made.MaxPredictionsPerSeq < 0 {
		return fmt.Errorf("max_seq_length %d, max_predictions_per_seq %d", s.made.MaxSeqLength, s.made.MaxPredictionsPerSeq)
	}
	return nil
}

// Files returns the selected files in the order in which they are read.
func (s *Shards) Files() []File { return slices.Clone(s.files) }

// Manifest returns the manifest of a folder of shards; nil for third-party files
// and for shards in the format of another library. It must not be changed.
func (s *Shards) Manifest() *sharding.Manifest { return s.manifest }

// Records returns the number of examples in the selected files according to the
// manifest; ok is false without a manifest. [Index.Len] also works without one.
func (s *Shards) Records() (n int64, ok bool) {
	for _, f := range s.files {
		if f.Records < 0 {
			return 0, false
		}
		n += f.Records
	}
	return n, true
}

// Made returns the options that the examples were made with. Options that are not in
// the manifest have their defaults. For third-party files the result is zero; if
// they were converted to another format, it has only the lengths and Recipe is "".
func (s *Shards) Made() sharding.ExamplesOptions { return s.made }

// DoLowerCase returns do_lower_case in the manifest, or nil if it is absent.
func (s *Shards) DoLowerCase() *bool { return s.lower }

// Converted reports whether the shards are in the format of another library.
func (s *Shards) Converted() bool { return s.files[0].part != nil }

// Form returns the form of the records. It is read from the manifest or, for
// third-party files, found from the first records; see also [Shards.As].
func (s *Shards) Form() records.Form { return s.form }

// As sets the form of the records, for third-party files whose features fit several forms.
func (s *Shards) As(f records.Form) { s.form = f }

// MaxSeqLength returns the length of each example in tokens, including padding. It
// returns 0 for third-party TFRecord files and for documents, whose lengths may
// differ.
func (s *Shards) MaxSeqLength() int {
	if s.form.Documents() {
		return 0
	}
	return s.made.MaxSeqLength
}

// MaxPredictionsPerSeq returns the maximum number of predictions in each
// example; 0 for third-party TFRecord files and for records without masks.
func (s *Shards) MaxPredictionsPerSeq() int {
	if !s.form.Masks() {
		return 0
	}
	return s.made.MaxPredictionsPerSeq
}

// Vocab reads the vocab.txt beside the files. Without one it returns nil and no
// error.
func (s *Shards) Vocab(ctx context.Context) (*tokenize.Vocab, error) {
	path := store.Join(store.Dir(s.files[0].Path), sharding.VocabName)
	raw, err := store.ReadSmall(ctx, path, store.Tokens)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.Made().ReadVocab(path, raw)
}
