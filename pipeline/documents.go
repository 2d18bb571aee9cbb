package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/sharding"
)

// A documentsInput is one documents folder that a later stage reads.
type documentsInput struct {
	location string
	input    sharding.Input // its manifest
	counts   sharding.Counts
	files    []documentsFile
}

type documentsFile struct {
	name   string
	blocks []extract.Block
}

// openDocuments reads the manifests and block tables of documents folders, in
// the order given.
func openDocuments(ctx context.Context, locations []string) ([]documentsInput, error) {
	var inputs []documentsInput
	for _, location := range locations {
		in, err := openDocumentsFolder(ctx, location)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func openDocumentsFolder(ctx context.Context, location string) (documentsInput, error) {
	in := documentsInput{location: absolute(location)}
	folder, err := store.Open(location)
	if err != nil {
		return in, err
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return in, err
	}
	raw, err := store.ReadFile(ctx, folder, sharding.ManifestName)
	if err != nil {
		return in, err
	}
	in.input = sharding.Input{Name: sharding.ManifestName, Bytes: int64(len(raw)), SHA256: sharding.Hash(raw)}
	in.counts = m.Counts
	files := documentsFiles(m)
	if len(files) == 0 {
		return in, &ConfigError{fmt.Errorf("%s holds the output of stage %q, not documents", location, m.Stage)}
	}
	for _, f := range files {
		body, err := readDocumentsBody(ctx, folder, f.Name)
		if err != nil {
			return in, err
		}
		in.files = append(in.files, documentsFile{f.Name, body.Blocks})
	}
	return in, nil
}

func readDocumentsBody(ctx context.Context, folder store.Folder, name string) (body documentsBody, err error) {
	car, err := sharding.ReadSideCar(ctx, folder, strings.TrimSuffix(name, sharding.DocumentsSuffix)+sharding.SideCarSuffix)
	if err != nil {
		return body, err
	}
	if err := json.Unmarshal(car.Body, &body); err != nil {
		return body, fmt.Errorf("side-car of %s in %s: %w: %v", name, folder, sharding.ErrFormat, err)
	}
	return body, nil
}

// A blockList is the part of a task's plan that says which blocks it reads, in
// source order. Folders are named by their place among the stage's inputs, so
// that the plan holds no path.
type blockList []fileBlocks

type fileBlocks struct {
	Folder int             `json:"folder"`
	Name   string          `json:"name"`
	Blocks []extract.Block `json:"blocks"`
}

func (l blockList) textBytes() (n int64) {
	for _, f := range l {
		for _, b := range f.Blocks {
			n += b.TextBytes
		}
	}
	return n
}

// documents yields the documents of the blocks in order, and at most one error.
func (l blockList) documents(ctx context.Context, locations []string, meter *Meter) iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		r, err := extract.NewBlockReader()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for _, file := range l {
			if file.Folder < 0 || file.Folder >= len(locations) {
				yield(nil, fmt.Errorf("%w: folder %d of %d in the plan of a task", sharding.ErrFormat, file.Folder, len(locations)))
				return
			}
			ok, err := readBlocks(ctx, r, locations[file.Folder], file, meter, yield)
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", file.Name, err))
			}
			if err != nil || !ok {
				return
			}
		}
	}
}

// readBlocks yields the documents of one file; ok is false when the consumer
// wants no more.
func readBlocks(ctx context.Context, r *extract.BlockReader, location string, file fileBlocks, meter *Meter, yield func(*extract.Document, error) bool) (ok bool, err error) {
	folder, err := store.Open(location)
	if err != nil {
		return false, err
	}
	f, err := folder.Open(ctx, file.Name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for _, b := range file.Blocks {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for doc, err := range r.Documents(f, b) {
			if err != nil {
				return false, err
			}
			if !yield(doc, nil) {
				return false, nil
			}
		}
		meter.Add(b.TextBytes)
	}
	return true, nil
}

// sortDocuments tells arguments that are documents folders of ours from those
// that must be made into one first: BERT text, JSON lines, folders of JSON lines.
func sortDocuments(arguments, texts []string) (folders []string, foreign []Source, err error) {
	for _, arg := range arguments {
		sources, ours, err := classify(arg)
		if err != nil {
			return nil, nil, err
		}
		if ours {
			folders = append(folders, arg)
		}
		foreign = append(foreign, sources...)
	}
	for _, path := range texts {
		foreign = append(foreign, Source{KindText, path})
	}
	return folders, foreign, nil
}

// ImportedFolder is the folder below a stage's own in which foreign documents
// are kept in our form.
const ImportedFolder = sharding.ImportedFolder

// classify tells documents folders of ours from JSON lines.
func classify(arg string) (foreign []Source, ours bool, err error) {
	if err := checkLocal(Source{KindJSONL, arg}); err != nil {
		return nil, false, err
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return []Source{{KindJSONL, arg}}, false, nil
	}
	for _, name := range []string{sharding.ManifestName, sharding.PlanName} {
		if _, err := os.Stat(filepath.Join(arg, name)); err == nil {
			return nil, true, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
	}
	entries, err := os.ReadDir(arg) // sorted by name
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if stem, _, found := strings.Cut(e.Name(), ".jsonl"); found && stem != "" && !strings.HasPrefix(stem, ".") && !e.IsDir() {
			foreign = append(foreign, Source{KindJSONL, filepath.Join(arg, e.Name())})
		}
	}
	if len(foreign) == 0 {
		return nil, false, fmt.Errorf("%s: %w", arg, sharding.ErrUnfinished)
	}
	return foreign, false, nil
}
