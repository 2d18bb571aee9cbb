package sharding

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"pretext/counts"
	"pretext/internal/extsort"
	"pretext/internal/store"
)

// IDsSuffix is the suffix of ID lists. Beside each documents file is a list with the
// 64-bit FNV-1a hash of each document's ID, as sorted big-endian integers. Merging these
// sorted lists finds the equal IDs in a whole folder with little memory.
const IDsSuffix = ".ids"

// EqualIDs is the number of documents in a folder whose ID equals that of another
// document.
var EqualIDs = counts.Declare("equal_ids", counts.About{Whole: true, Meaning: "documents with the ID of another one, see IDs"})

// An IDList collects the IDs of one documents file.
type IDList []uint64

// Add adds a document's ID.
func (l *IDList) Add(id string) { *l = append(*l, idHash(id)) }

// idHash returns the 64-bit FNV-1a hash of a document's ID.
func idHash(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// Bytes returns the content of the list's file.
func (l IDList) Bytes() []byte {
	slices.Sort(l)
	b := make([]byte, 0, 8*len(l))
	for _, h := range l {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return b
}

// idsMemory is the memory for sorting IDs, in bytes.
const idsMemory = 32 << 20

// An IDSpill is a temporary file that disappears when it is closed.
type IDSpill = interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// CountEqualIDs returns the number of documents in folder whose ID equals that of an
// earlier document. names are the ID list files, which are read one after the other. More
// than four million IDs are sorted in the file that spill creates; if spill is nil, in a
// file in the system's temporary directory.
func CountEqualIDs(ctx context.Context, folder Folder, names []string, spill func() (IDSpill, error)) (equal int64, err error) {
	create := extsort.TempSpill("")
	if spill != nil {
		create = func() (extsort.Spill, error) { return spill() }
	}
	ids := extsort.NewKeys(idsMemory, create)
	defer func() { err = errors.Join(err, ids.Close()) }()
	for _, name := range names {
		if err := addIDs(ctx, folder, name, ids); err != nil {
			return 0, err
		}
	}
	first, last := true, uint64(0)
	for id, err := range ids.Sorted() {
		if err != nil {
			return 0, err
		}
		if !first && id == last {
			equal++
		}
		first, last = false, id
	}
	return equal, ctx.Err()
}

// addIDs adds the IDs of a list to ids.
func addIDs(ctx context.Context, folder Folder, name string, ids *extsort.Keys) error {
	f, err := folder.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(store.NewReader(f, 0), int(min(max(f.Size(), 16), 1<<20)))
	for {
		var b [8]byte
		if _, err := io.ReadFull(r, b[:]); err == io.EOF {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("read %s: %w: %w", name, ErrFormat, err)
		}
		if err := ids.Add(binary.BigEndian.Uint64(b[:])); err != nil {
			return err
		}
	}
}
