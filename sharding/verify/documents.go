package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/sharding"
)

// documents reads all documents of a file and compares them with its side-car, its list
// of IDs and the manifest.
func (c *folderCheck) documents(ctx context.Context, e sharding.FileEntry, r *fileReport) error {
	f, err := c.folder.Open(ctx, e.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	s := documentScan{file: e.Name, report: r}
	table, err := extract.ReadBlocks(f, f.Size())
	if err != nil {
		s.fault(damageAt(err), "%v", err)
	}
	blocks, known, err := c.blocks(ctx, e.Name, table, &s)
	if err != nil {
		return err
	}
	if err := s.run(ctx, f, blocks, known); err != nil {
		return err
	}
	r.documents = s.documents
	for k, n := range (sharding.Counts{extract.Documents.Key: s.documents, extract.TextBytes.Key: s.text}).All() {
		if want, said := e.Counts[k]; (said || known) && want != n {
			s.fault(0, "%d %s, the manifest says %d", n, k, want)
		}
	}
	stem := strings.TrimSuffix(e.Name, sharding.DocumentsSuffix)
	if known { // otherwise a third-party stage wrote the file
		if err := c.rejects(ctx, stem+sharding.RejectsSuffix, e.Counts, r); err != nil {
			return err
		}
	}
	return c.ids(ctx, stem+sharding.IDsSuffix, &s)
}

// rejects compares the list of rejects beside a documents file with the counts in the
// manifest. Extract stages of earlier versions did not write this list.
func (c *folderCheck) rejects(ctx context.Context, name string, counts sharding.Counts, r *fileReport) error {
	if _, ok := c.index[name]; !ok {
		return nil
	}
	f, err := c.folder.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // reported as missing
	}
	if err != nil {
		return err
	}
	defer f.Close()
	listed := map[extract.Reject]int64{}
	lines := json.NewDecoder(io.NewSectionReader(f, 0, f.Size()))
	for {
		var line sharding.RejectLine
		if err := lines.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			r.add(sharding.Problem{File: name, Offset: lines.InputOffset(), Reason: fmt.Sprintf("at byte %d: not a list of rejects: %v", lines.InputOffset(), err)})
			return ctx.Err()
		}
		listed[line.Reason]++
	}
	for reason, n := range extract.Rejects.Members(counts) {
		if n != listed[reason] {
			r.add(sharding.Problem{File: name, Reason: fmt.Sprintf("%d rejects for %q, the manifest says %d", listed[reason], reason, n)})
		}
		delete(listed, reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(listed)) {
		r.add(sharding.Problem{File: name, Reason: fmt.Sprintf("%d rejects for %q, the manifest says 0", listed[reason], reason)})
	}
	return nil
}

// blocks returns the blocks of a documents file according to its side-car, and known =
// true. Without a side-car it returns known = false and table, which are the blocks
// according to the file's seek table.
func (c *folderCheck) blocks(ctx context.Context, name string, table []extract.Block, s *documentScan) (blocks []extract.Block, known bool, err error) {
	body, err := sharding.ReadDocumentsBody(ctx, c.folder, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return table, false, nil // if required, it is reported as missing
	case errors.Is(err, sharding.ErrFormat):
		return table, false, nil // reported with the side-car
	case err != nil:
		return nil, false, err
	}
	if table == nil {
		return body.Blocks, true, nil
	}
	if len(table) != len(body.Blocks) {
		s.fault(0, "%d blocks in the seek table, %d in the side-car", len(table), len(body.Blocks))
		return body.Blocks, true, nil
	}
	for i, b := range body.Blocks {
		if t := table[i]; t.Offset != b.Offset || t.Length != b.Length || t.RawLength != b.RawLength {
			s.fault(t.Offset, "block %d at byte %d: the side-car says byte %d, or another length", i, t.Offset, b.Offset)
			break
		}
	}
	return body.Blocks, true, nil
}

// ids compares the list of IDs of a file with the IDs of its documents.
func (c *folderCheck) ids(ctx context.Context, name string, s *documentScan) error {
	if _, ok := c.index[name]; !ok || s.damaged {
		return nil
	}
	raw, err := store.ReadFile(ctx, c.folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if want := s.ids.Bytes(); !bytes.Equal(raw, want) {
		at := 0
		for at < min(len(raw), len(want)) && raw[at] == want[at] {
			at++
		}
		s.report.add(sharding.Problem{File: name, Offset: int64(at), Reason: fmt.Sprintf("at byte %d: not the IDs of the documents", at)})
	}
	return nil
}

// damageAt returns the offset of the corrupt data from err, or 0 if err contains no
// offset.
func damageAt(err error) int64 {
	var corrupt *extract.CorruptError
	if errors.As(err, &corrupt) {
		return corrupt.Offset
	}
	return 0
}

// A documentScan reads every document of a file.
type documentScan struct {
	file            string
	report          *fileReport
	documents, text int64
	ids             sharding.IDList
	damaged         bool // not all documents could be read
}

func (s *documentScan) fault(offset int64, format string, args ...any) {
	s.report.add(sharding.Problem{File: s.file, Offset: offset, Reason: strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")})
}

func (s *documentScan) run(ctx context.Context, f store.File, blocks []extract.Block, known bool) error {
	r, err := extract.NewBlockReader()
	if err != nil {
		return err
	}
	defer r.Close()
	for i, b := range blocks {
		var n, size int64
		for d, err := range r.Documents(f, b) {
			if err != nil {
				s.damaged = true
				s.fault(damageAt(err), "block %d: %v", i, err)
				break
			}
			s.check(b, n, d)
			n, size = n+1, size+int64(len(d.Text))
		}
		if known && (n != b.Documents || size != b.TextBytes) {
			s.fault(b.Offset, "block %d at byte %d: %d documents, %d bytes of text, the side-car says %d, %d", i, b.Offset, n, size, b.Documents, b.TextBytes)
		}
		s.documents, s.text = s.documents+n, s.text+size
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// check checks a document against the rules of docs/file-format.md.
func (s *documentScan) check(b extract.Block, number int64, d *extract.Document) {
	s.ids.Add(d.ID)
	fault := func(reason string) {
		s.fault(b.Offset, "document %d (%q) of the block at byte %d: %s", number, d.ID, b.Offset, reason)
	}
	switch {
	case d.ID == "":
		fault("no ID")
	case len(d.Text) > extract.MaxDocumentBytes:
		fault(fmt.Sprintf("%d bytes of text, more than %d", len(d.Text), extract.MaxDocumentBytes))
	case !utf8.ValidString(d.Text):
		fault("text is not UTF-8")
	}
}
