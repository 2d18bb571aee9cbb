package sharding

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"golang.org/x/sync/errgroup"

	"pretext/extract"
	"pretext/internal/failure"
	"pretext/internal/store"
)

// DocumentsInput describes a finished documents folder that a later stage reads.
type DocumentsInput struct {
	Location string // absolute path
	Input    Input  // the folder's manifest, as an input of the later stage
	Counts   Counts
	Files    []DocumentsFile // in source order
}

// A DocumentsFile is a documents file and its table of blocks.
type DocumentsFile struct {
	Name   string
	Blocks []extract.Block
}

// OpenDocuments reads the manifests and block tables of documents folders, in
// the order given.
func OpenDocuments(ctx context.Context, locations []string) ([]DocumentsInput, error) {
	var inputs []DocumentsInput
	for _, location := range locations {
		in, err := OpenDocumentsFolder(ctx, location)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// OpenDocumentsFolder reads the manifest and the block tables of a documents
// folder. If the folder belongs to another stage, the error is a usage error.
func OpenDocumentsFolder(ctx context.Context, location string) (DocumentsInput, error) {
	in := DocumentsInput{Location: store.Absolute(location)}
	folder, err := store.Open(location)
	if err != nil {
		return in, err
	}
	m, err := ReadManifestHead(ctx, folder)
	if err != nil {
		return in, err
	}
	if in.Input, err = ManifestInput(ctx, folder); err != nil {
		return in, err
	}
	in.Counts = m.Counts
	files, err := documentsFiles(ctx, folder, m)
	if err != nil {
		return in, err
	}
	if len(files) == 0 {
		return in, failure.Usagef("%s contains the output of stage %q, want a folder of documents", location, m.Stage)
	}
	in.Files, err = readBlockTables(ctx, folder, files)
	return in, err
}

// ReadSourceNames returns the [SourceNames] of documents folders. It reads only their
// manifests.
func ReadSourceNames(ctx context.Context, locations []string) ([]string, error) {
	inputs := make([]DocumentsInput, len(locations))
	for i, location := range locations {
		folder, err := store.Open(location)
		if err != nil {
			return nil, err
		}
		m, err := ReadManifestHead(ctx, folder)
		if err != nil {
			return nil, err
		}
		files, err := documentsFiles(ctx, folder, m)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			inputs[i].Files = append(inputs[i].Files, DocumentsFile{Name: f.Name})
		}
	}
	return SourceNames(inputs), nil
}

// documentsFiles is [Manifest.DocumentsFiles], but also reads a manifest that is stored
// in parts.
func documentsFiles(ctx context.Context, folder Folder, m *Manifest) ([]FileEntry, error) {
	var documents Manifest
	for f, err := range m.EachFile(ctx, folder) {
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(f.Name, DocumentsSuffix) {
			documents.Files = append(documents.Files, f)
		}
	}
	return documents.DocumentsFiles(), nil
}

// TablesAtOnce is how many side-cars of documents are read at the same time. One takes some
// hundredths of a second in an object store.
const TablesAtOnce = 16

// readBlockTables reads the side-cars of documents files.
func readBlockTables(ctx context.Context, folder Folder, files []FileEntry) ([]DocumentsFile, error) {
	tables := make([]DocumentsFile, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(TablesAtOnce)
	for i, f := range files {
		g.Go(func() error {
			blocks, err := readBlocks(ctx, folder, f.Name)
			tables[i] = DocumentsFile{f.Name, blocks}
			return err
		})
	}
	return tables, g.Wait()
}

// Documents yields the documents of the blocks in order, and at most one error.
// After each block it calls read with the size of that block's text in bytes.
func (l BlockList) Documents(ctx context.Context, locations []string, read func(textBytes int64)) iter.Seq2[*extract.Document, error] {
	return l.documents(ctx, locations, read, func(*FileBlocks) {})
}

// documents implements Documents. It also calls begin at the start of each file.
func (l BlockList) documents(ctx context.Context, locations []string, read func(textBytes int64), begin func(*FileBlocks)) iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		r, err := extract.NewBlockReader()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for _, file := range l {
			if file.Folder < 0 || file.Folder >= len(locations) {
				yield(nil, fmt.Errorf("%w: the plan of a task names folder %d, want less than %d", ErrFormat, file.Folder, len(locations)))
				return
			}
			begin(&file)
			folder, err := store.Open(locations[file.Folder])
			ok := false
			if err == nil {
				b := blockReader{r, folder, read}
				ok, err = b.planned(ctx, file, yield)
			}
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", file.Name, err))
			}
			if err != nil || !ok {
				return
			}
		}
	}
}

// Documents yields the documents of a documents file in order, and at most one error. The
// yielded document is valid only until the next one.
func Documents(ctx context.Context, folder Folder, name string) iter.Seq2[*extract.Document, error] {
	return func(yield func(*extract.Document, error) bool) {
		r, err := extract.NewBlockReader()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		b := blockReader{r, folder, func(int64) {}}
		if err := b.whole(ctx, name, yield); err != nil {
			if damage := (*DamageError)(nil); !errors.As(err, &damage) { // which names the file
				err = fmt.Errorf("%s: %w", store.Join(folder.String(), name), err)
			}
			yield(nil, err)
		}
	}
}

// A blockReader reads blocks of the documents files in a folder.
type blockReader struct {
	*extract.BlockReader
	folder Folder
	read   func(textBytes int64)
}

// planned calls yield for the documents of some blocks of a file. ok is false if yield
// returned false. The request that opens the file reads the first blocks.
func (r blockReader) planned(ctx context.Context, file FileBlocks, yield func(*extract.Document, error) bool) (ok bool, err error) {
	offset, length := int64(0), int64(1)
	if len(file.Blocks) > 0 {
		first := file.Blocks[0]
		offset, length = max(0, first.Offset), max(1, first.Length)
		for _, b := range file.Blocks[1:] {
			if b.Offset != offset+length {
				break
			}
			length += b.Length
		}
	}
	f, err := store.OpenAt(ctx, r.folder, file.Name, offset, length)
	if err != nil {
		return false, Missing(store.Join(r.folder.String(), file.Name), err)
	}
	defer f.Close()
	return r.documents(ctx, f, file.Blocks, yield)
}

// whole calls yield for all documents of a file.
func (r blockReader) whole(ctx context.Context, name string, yield func(*extract.Document, error) bool) error {
	f, err := r.folder.Open(ctx, name)
	if err != nil {
		return Missing(store.Join(r.folder.String(), name), err)
	}
	defer f.Close()
	list, err := extract.ReadBlocks(f, f.Size())
	if err == nil {
		_, err = r.documents(ctx, f, list, yield)
	}
	return err
}

// documents calls yield for the documents of blocks of an open file. ok is false if yield
// returned false.
func (r blockReader) documents(ctx context.Context, f File, list []extract.Block, yield func(*extract.Document, error) bool) (ok bool, err error) {
	for _, b := range list {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for doc, err := range r.BlockReader.Documents(f, b) {
			if err != nil {
				return false, err
			}
			if !yield(doc, nil) {
				return false, nil
			}
		}
		r.read(b.TextBytes)
	}
	return true, nil
}
