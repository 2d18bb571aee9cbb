package sharding

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"pretext/internal/store"
)

// Beside each documents file lies the list of its documents' IDs: the 64-bit
// FNV-1a hash of each, big endian, sorted. Merging the lists counts equal IDs of
// a whole folder in little memory, however many documents there are.

// IDsSuffix ends the name of a list of IDs. Beside each documents file there is
// such a list: the 64-bit FNV-1a hash of the ID of each document, big-endian,
// sorted. Merging the lists counts the equal IDs of a whole folder in little
// memory, however many documents there are.
const IDsSuffix = ".ids"

// An IDList collects the IDs of one documents file.
type IDList []uint64

// Add adds a document's ID.
func (l *IDList) Add(id string) {
	h := fnv.New64a()
	h.Write([]byte(id))
	*l = append(*l, h.Sum64())
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

// CountEqualIDs returns the number of documents in folder whose ID equals that
// of an earlier document. names are the names of the lists of IDs.
func CountEqualIDs(ctx context.Context, folder Folder, names []string) (equal int64, err error) {
	var lists idHeap
	for _, name := range names {
		f, err := folder.Open(ctx, name)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		c := &idCursor{name: name, r: bufio.NewReaderSize(store.NewReader(f, 0), 4<<10)}
		if ok, err := c.next(); err != nil {
			return 0, err
		} else if ok {
			lists = append(lists, c)
		}
	}
	heap.Init(&lists)
	first, last := true, uint64(0)
	for len(lists) > 0 {
		c := lists[0]
		if !first && c.id == last {
			equal++
		}
		first, last = false, c.id
		ok, err := c.next()
		if err != nil {
			return 0, err
		}
		if ok {
			heap.Fix(&lists, 0)
		} else {
			heap.Pop(&lists)
		}
	}
	return equal, ctx.Err()
}

// An idCursor reads one list of IDs.
type idCursor struct {
	name string
	r    *bufio.Reader
	id   uint64
}

func (c *idCursor) next() (ok bool, err error) {
	var b [8]byte
	if _, err := io.ReadFull(c.r, b[:]); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read %s: %w: %w", c.name, ErrFormat, err)
	}
	c.id = binary.BigEndian.Uint64(b[:])
	return true, nil
}

type idHeap []*idCursor

func (h idHeap) Len() int           { return len(h) }
func (h idHeap) Less(i, j int) bool { return cmp.Less(h[i].id, h[j].id) }
func (h idHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *idHeap) Push(x any)        { *h = append(*h, x.(*idCursor)) }
func (h *idHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
