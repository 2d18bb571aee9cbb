package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/tokenize"
)

// A Verification is what [Verify] found.
type Verification struct {
	Folders   []string           `json:"folders,omitempty"`
	Files     int                `json:"files"`
	Bytes     int64              `json:"bytes"`
	Documents int64              `json:"documents"`
	Records   int64              `json:"records"`
	Problems  []sharding.Problem `json:"problems"`
}

// OK reports whether nothing is wrong.
func (v *Verification) OK() bool { return len(v.Problems) == 0 }

func (v *Verification) add(other Verification) {
	v.Folders = append(v.Folders, other.Folders...)
	v.Files += other.Files
	v.Bytes += other.Bytes
	v.Documents += other.Documents
	v.Records += other.Records
	v.Problems = append(v.Problems, other.Problems...)
}

// maxProblems is how many problems of one file are reported.
const maxProblems = 20

// Verify checks a run's folder, a stage's folder or a file of records: every
// byte against the manifest, every document and every record against the rules
// of its format. Problems are not errors: an error is what kept Verify from
// looking.
func Verify(ctx context.Context, path string, workers int) (*Verification, error) {
	folders, file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	v := &Verification{Problems: []sharding.Problem{}}
	if file != "" {
		one, err := verifyBare(ctx, file)
		v.add(one)
		return v, err
	}
	for _, f := range folders {
		one, err := verifyFolder(ctx, f, workers)
		if err != nil {
			return nil, err
		}
		v.add(one)
	}
	return v, nil
}

// resolve tells what a path is: a run's root (its stage folders), one stage's
// folder, or a file.
func resolve(path string) (folders []string, file string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if !info.IsDir() {
		return nil, path, nil
	}
	is := func(dir string) bool {
		for _, name := range []string{sharding.ManifestName, sharding.PlanName} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return true
			}
		}
		return false
	}
	if is(path) {
		folders = append(folders, path)
	}
	for _, name := range []string{SourcesFolder, ImportedFolder, SignaturesFolder, PairsFolder, DocumentsFolder, FilteredFolder, VocabFolder, ShardsFolder} {
		if dir := filepath.Join(path, name); is(dir) {
			folders = append(folders, dir)
		}
	}
	if len(folders) == 0 {
		return nil, "", fmt.Errorf("%s: %w", path, sharding.ErrUnfinished)
	}
	return folders, "", nil
}

func verifyFolder(ctx context.Context, path string, workers int) (Verification, error) {
	v := Verification{Folders: []string{path}}
	folder, err := store.Open(path)
	if err != nil {
		return v, err
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return v, err
	}
	found := make([]Verification, len(m.Files))
	check, err := newFolderCheck(ctx, folder, m)
	if err != nil {
		return v, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, workers))
	for i, e := range m.Files {
		g.Go(func() (err error) {
			found[i], err = check.file(ctx, e)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return v, err
	}
	counts := sharding.Counts{}
	for i, f := range found {
		v.add(f)
		counts.Add(m.Files[i].Counts)
	}
	v.Problems = append(v.Problems, check.strangers(ctx)...)
	v.Problems = append(v.Problems, check.dropped(ctx)...)
	for _, k := range slices.Sorted(keys(m.Counts)) {
		if k != "equal_ids" && counts[k] != m.Counts[k] {
			v.Problems = append(v.Problems, sharding.Problem{File: sharding.ManifestName,
				Reason: fmt.Sprintf("total of %s is %d, its files add up to %d", k, m.Counts[k], counts[k])})
		}
	}
	for i := range v.Problems {
		v.Problems[i].File = filepath.Join(path, v.Problems[i].File)
	}
	return v, nil
}

// A folderCheck holds what checking the files of a folder needs.
type folderCheck struct {
	folder store.Folder
	m      *sharding.Manifest
	rules  records.Rules     // of the shards
	sums   map[string]string // hash → name of the first shard that has it
}

func newFolderCheck(ctx context.Context, folder store.Folder, m *sharding.Manifest) (*folderCheck, error) {
	c := &folderCheck{folder: folder, m: m, sums: map[string]string{}}
	if m.Stage != "examples" {
		return c, nil
	}
	var o ExamplesOptions
	if err := json.Unmarshal(m.Options, &o); err != nil {
		return nil, fmt.Errorf("read %s in %s: %w: %v", sharding.ManifestName, folder, sharding.ErrFormat, err)
	}
	c.rules = records.Rules{MaxSeqLength: o.MaxSeqLength, MaxPredictionsPerSeq: o.MaxPredictionsPerSeq}
	if t := o.Tokenizer; t != nil {
		c.rules.VocabSize, c.rules.CLS, c.rules.SEP, c.rules.Pad = t.VocabSize, t.CLS, t.SEP, t.Pad
	} else if raw, err := store.ReadFile(ctx, folder, sharding.VocabName); err == nil {
		if v, err := tokenize.ReadVocab(sharding.VocabName, raw); err == nil {
			c.rules.VocabSize, c.rules.CLS, c.rules.SEP = v.Len(), v.CLS(), v.SEP()
		}
	}
	for _, e := range recordFiles(m) {
		if _, ok := c.sums[e.SHA256]; !ok {
			c.sums[e.SHA256] = e.Name
		}
	}
	return c, nil
}

// strangers returns the files that look like the stage's but are not in its
// manifest.
func (c *folderCheck) strangers(ctx context.Context) (problems []sharding.Problem) {
	infos, err := c.folder.List(ctx)
	if err != nil {
		return []sharding.Problem{{File: ".", Reason: err.Error()}}
	}
	for _, info := range infos {
		switch info.Name {
		case sharding.ManifestName, sharding.PlanName, sharding.RunName:
			continue
		}
		listed := slices.ContainsFunc(c.m.Files, func(e sharding.FileEntry) bool { return e.Name == info.Name })
		if !listed && ours(info.Name) {
			problems = append(problems, sharding.Problem{File: info.Name, Reason: "not in the manifest: a file of another run?"})
		}
	}
	return problems
}

// file checks one file: its hash, then what is in it.
func (c *folderCheck) file(ctx context.Context, e sharding.FileEntry) (Verification, error) {
	v := Verification{Files: 1, Bytes: e.Bytes}
	problem, err := e.Check(ctx, c.folder)
	if err != nil {
		return v, err
	}
	if problem != nil {
		v.Problems = append(v.Problems, *problem)
		if problem.Reason == "missing" {
			return v, nil
		}
	}
	switch name, shard := sharding.ParseShardName(e.Name); {
	case strings.HasSuffix(e.Name, sharding.DocumentsSuffix):
		return c.documents(ctx, e, v)
	case shard && (e.Name == name.Records(false) || e.Name == name.Records(true)):
		if first := c.sums[e.SHA256]; first != e.Name && e.Bytes > 0 {
			v.Problems = append(v.Problems, sharding.Problem{File: e.Name, Reason: "same content as " + first})
		}
		return c.records(ctx, e, name, v)
	case e.Name == sharding.VocabName, e.Name == sharding.TokenizerName:
		raw, err := store.ReadFile(ctx, c.folder, e.Name)
		if err != nil {
			return v, err
		}
		if err := c.checkTokens(e.Name, raw); err != nil {
			v.Problems = append(v.Problems, sharding.Problem{File: e.Name, Reason: err.Error()})
		}
	}
	return v, nil
}

// documents reads all documents of a file.
func (c *folderCheck) documents(ctx context.Context, e sharding.FileEntry, v Verification) (Verification, error) {
	fault := func(offset int64, format string, args ...any) {
		if len(v.Problems) < maxProblems {
			v.Problems = append(v.Problems, sharding.Problem{File: e.Name, Offset: offset, Reason: fmt.Sprintf(format, args...)})
		}
	}
	f, err := c.folder.Open(ctx, e.Name)
	if err != nil {
		return v, err
	}
	defer f.Close()
	body, err := readDocumentsBody(ctx, c.folder, e.Name)
	if err != nil {
		fault(0, "side-car: %v", err)
		return v, nil
	}
	table, err := extract.ReadBlocks(f, f.Size())
	if err != nil {
		fault(0, "%v", err)
	} else if len(table) != len(body.Blocks) {
		fault(0, "%d blocks in the seek table, %d in the side-car", len(table), len(body.Blocks))
	}
	r, err := extract.NewBlockReader()
	if err != nil {
		return v, err
	}
	defer r.Close()
	var total, text int64
	for _, b := range body.Blocks {
		var n, size int64
		for d, err := range r.Documents(f, b) {
			if err != nil {
				fault(b.Offset, "%v", err)
				break
			}
			n, size = n+1, size+int64(len(d.Text))
		}
		if n != b.Documents || size != b.TextBytes {
			fault(b.Offset, "block at byte %d: %d documents, %d bytes of text, the side-car says %d, %d", b.Offset, n, size, b.Documents, b.TextBytes)
		}
		total, text = total+n, text+size
		if err := ctx.Err(); err != nil {
			return v, err
		}
	}
	if total != e.Counts["documents"] || text != e.Counts["text_bytes"] {
		fault(0, "%d documents, %d bytes of text, the manifest says %d, %d", total, text, e.Counts["documents"], e.Counts["text_bytes"])
	}
	v.Documents = total
	return v, nil
}

// records reads all records of a shard and its index.
func (c *folderCheck) records(ctx context.Context, e sharding.FileEntry, name sharding.ShardName, v Verification) (Verification, error) {
	var body shardBody
	car, err := sharding.ReadSideCar(ctx, c.folder, name.SideCar())
	if err == nil {
		err = json.Unmarshal(car.Body, &body)
	}
	if err != nil {
		v.Problems = append(v.Problems, sharding.Problem{File: name.SideCar(), Reason: err.Error()})
	}
	indexFile, err := store.ReadFile(ctx, c.folder, name.IndexFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	f, err := c.folder.Open(ctx, e.Name)
	if err != nil {
		return v, err
	}
	defer f.Close()
	s := recordScan{file: e.Name, rules: c.rules, index: tfrecord.NewIndexReader(bytes.NewReader(indexFile)), body: &body, problems: v.Problems}
	if err := s.run(ctx, f); err != nil {
		return v, err
	}
	if s.records != e.Counts["records"] {
		s.fault(0, -1, fmt.Sprintf("%d records, the manifest says %d", s.records, e.Counts["records"]))
	}
	if masked := s.masked; masked != e.Counts["masked"] {
		s.fault(0, -1, fmt.Sprintf("%d masked positions, the manifest says %d", masked, e.Counts["masked"]))
	}
	v.Records, v.Problems = s.records, s.problems
	return v, nil
}

// verifyBare checks a file of records of which nothing else is known.
func verifyBare(ctx context.Context, path string) (Verification, error) {
	f, err := openPath(ctx, path)
	if err != nil {
		return Verification{}, err
	}
	defer f.Close()
	s := recordScan{file: path, bare: true}
	err = s.run(ctx, f)
	return Verification{Files: 1, Bytes: f.Size(), Records: s.records, Problems: s.problems}, err
}

// A recordScan reads every record of a file and checks it.
type recordScan struct {
	file     string
	bare     bool // no manifest: only what any file of examples must be
	rules    records.Rules
	index    *tfrecord.IndexReader
	body     *shardBody
	problems []sharding.Problem
	records  int64
	masked   int64
}

func (s *recordScan) fault(offset, record int64, reason string) {
	if len(s.problems) < maxProblems {
		s.problems = append(s.problems, sharding.Problem{File: s.file, Offset: offset, Record: record, Reason: strings.ReplaceAll(reason, "\n", "; ")})
	}
}

func (s *recordScan) run(ctx context.Context, f store.File) error {
	r := tfrecord.NewReader(store.NewReader(f, 0), tfrecord.ReaderOptions{})
	var example records.Example
	for {
		offset := r.Offset()
		payload, err := r.Next()
		var corrupt *tfrecord.CorruptError
		switch {
		case err == io.EOF:
			return s.endOfIndex()
		case errors.As(err, &corrupt):
			s.fault(corrupt.Offset, s.records, err.Error())
			return nil
		case err != nil:
			return err
		}
		if s.records%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := example.Decode(payload); err != nil {
			s.fault(offset, s.records, fmt.Sprintf("record %d at byte %d: %v", s.records, offset, err))
		} else if err := s.rules.Check(&example); err != nil {
			s.fault(offset, s.records, fmt.Sprintf("record %d at byte %d: %v", s.records, offset, err))
		}
		s.compare(&example, tfrecord.Span{Offset: offset, Length: int64(len(payload)) + tfrecord.FrameBytes})
		s.records++
		s.masked += int64(example.Predictions())
	}
}

// compare holds a record against the index and the side-car.
func (s *recordScan) compare(e *records.Example, at tfrecord.Span) {
	if s.bare {
		return
	}
	if span, err := s.index.Next(); err != nil || span != at {
		s.fault(at.Offset, s.records, fmt.Sprintf("record %d at byte %d: the index says otherwise (%v, %v)", s.records, at.Offset, span, err))
		s.index = tfrecord.NewIndexReader(strings.NewReader("")) // once is enough
	}
	i := int(s.records)
	if i >= len(s.body.Tokens) || i >= len(s.body.Masked) || int(s.body.Tokens[i]) != e.Tokens() || int(s.body.Masked[i]) != e.Predictions() {
		s.fault(at.Offset, s.records, fmt.Sprintf("record %d at byte %d: the side-car has other lengths", s.records, at.Offset))
	}
}

func (s *recordScan) endOfIndex() error {
	if s.bare {
		return nil
	}
	if span, err := s.index.Next(); err != io.EOF {
		s.fault(span.Offset, s.records, "the index goes on after the last record")
	}
	return nil
}
