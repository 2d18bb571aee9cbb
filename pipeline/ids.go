package pipeline

import (
	"bufio"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"pretext/internal/store"
	"pretext/sharding"
)

// Beside each documents file lies the list of its documents' IDs: the 64-bit
// FNV-1a hash of each, big endian, sorted. Merging the lists counts equal IDs of
// a whole folder in little memory, however many documents there are.

const idsSuffix = ".ids"

// An idList collects the IDs of one documents file.
type idList []uint64

func (l *idList) add(id string) {
	h := fnv.New64a()
	h.Write([]byte(id))
	*l = append(*l, h.Sum64())
}

// bytes returns the list's file.
func (l idList) bytes() []byte {
	slices.Sort(l)
	b := make([]byte, 0, 8*len(l))
	for _, h := range l {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return b
}

// countEqualIDs returns how many documents have the ID of an earlier one.
func countEqualIDs(ctx context.Context, folder store.Folder, names []string) (equal int64, err error) {
	var lists idHeap
	var files []store.File
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, name := range names {
		f, err := folder.Open(ctx, name)
		if err != nil {
			return 0, err
		}
		files = append(files, f)
		c := &idCursor{name: name, r: bufio.NewReaderSize(store.NewReader(f, 0), 4<<10)}
		ok, err := c.next()
		if err != nil {
			return 0, err
		}
		if ok {
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

// An idCursor is a place in one list.
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
		return false, fmt.Errorf("read %s: %w: %w", c.name, sharding.ErrFormat, err)
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
