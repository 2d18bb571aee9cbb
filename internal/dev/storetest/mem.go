// Package storetest has the tests that every implementation of [store.Folder] must pass,
// on a disk or in a bucket of object storage, and a bucket in memory for other tests.
package storetest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // ETags are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pretext/internal/store"
)

// A Mem is a bucket in memory. The zero value is empty and ready.
type Mem struct {
	// Before is called before each operation, such as "put", with the key. An
	// error that it returns is the operation's. It may be nil.
	Before func(op, key string) error
	// After is called after each operation that succeeded. An error that it
	// returns replaces the answer: the operation happened, and its answer is
	// lost. It may be nil.
	After func(op, key string) error
	// Shift is added to the clock.
	Shift time.Duration
	// IgnoreConditions makes writes ignore their conditions: those of "put" or
	// of "complete".
	IgnoreConditions string
	// PageSize is the number of entries in a page of a listing; 0: three.
	PageSize int

	mu      sync.Mutex
	objects map[string]memObject
	sorted  []string // keys of objects; nil after a change
	uploads map[string]*memUpload
	last    int
}

type memObject struct {
	store.Object
	data []byte
}

type memUpload struct {
	key   string
	parts map[int][]byte
}

// Register makes [store.Open] accept mem://NAME/ for the bucket m.
func (m *Mem) Register(name string) {
	mems.Store(name, m)
	store.Register("mem", func(name string) (store.Bucket, error) {
		m, ok := mems.Load(name)
		if !ok {
			return nil, fmt.Errorf("no bucket %s", name)
		}
		return m.(*Mem), nil
	})
}

var mems sync.Map

// Keys returns the keys of all objects and of incomplete uploads, sorted.
func (m *Mem) Keys() (keys, uploads []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.objects {
		keys = append(keys, k)
	}
	for _, u := range m.uploads {
		uploads = append(uploads, u.key)
	}
	slices.Sort(keys)
	slices.Sort(uploads)
	return keys, uploads
}

// do runs an operation between Before and After, under the lock. Like a client of a network
// it fails if ctx has ended.
func do[T any](ctx context.Context, m *Mem, op, key string, f func() (T, error)) (v T, err error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	if m.Before != nil {
		if err := m.Before(op, key); err != nil {
			return v, err
		}
	}
	m.mu.Lock()
	v, err = f()
	m.mu.Unlock()
	if err == nil && m.After != nil {
		if err := m.After(op, key); err != nil {
			var none T
			return none, err
		}
	}
	return v, err
}

func (m *Mem) now() time.Time { return time.Now().Add(m.Shift) }

// Get implements [store.Bucket].
func (m *Mem) Get(ctx context.Context, key string, part store.Part) (io.ReadCloser, store.Object, error) {
	object, err := do(ctx, m, "get", key, func() (memObject, error) {
		o, ok := m.objects[key]
		if !ok {
			return o, fs.ErrNotExist
		}
		if part.Version != "" && part.Version != o.Version {
			return o, fs.ErrExist
		}
		o.Now = m.now()
		return o, nil
	})
	if err != nil {
		return nil, store.Object{}, err
	}
	from := min(part.Offset, object.Size)
	return io.NopCloser(bytes.NewReader(object.data[from:min(from+part.Length, object.Size)])), object.Object, nil
}

// Head implements [store.Bucket].
func (m *Mem) Head(ctx context.Context, key string) (store.Object, error) {
	return do(ctx, m, "head", key, func() (store.Object, error) {
		o, ok := m.objects[key]
		if !ok {
			return store.Object{}, fs.ErrNotExist
		}
		return o.Object, nil
	})
}

// write makes an object; the lock is held.
func (m *Mem) write(op, key string, data []byte, when store.Condition) (store.Object, error) {
	old, there := m.objects[key]
	if m.IgnoreConditions != op {
		if when.Absent && there || when.Version != "" && there && old.Version != when.Version {
			return store.Object{}, fs.ErrExist
		}
		if when.Version != "" && !there {
			return store.Object{}, fs.ErrNotExist
		}
	}
	sum := md5.Sum(data) //nolint:gosec // see the import
	o := store.Object{Key: key, Size: int64(len(data)), Version: hex.EncodeToString(sum[:]), Modified: m.now()}
	if m.objects == nil {
		m.objects = map[string]memObject{}
	}
	if !there {
		m.sorted = nil
	}
	m.objects[key] = memObject{o, slices.Clone(data)}
	return o, nil
}

// Put implements [store.Bucket].
func (m *Mem) Put(ctx context.Context, key string, data []byte, when store.Condition) (store.Object, error) {
	return do(ctx, m, "put", key, func() (store.Object, error) { return m.write("put", key, data, when) })
}

// Delete implements [store.Bucket].
func (m *Mem) Delete(ctx context.Context, key string) error {
	_, err := do(ctx, m, "delete", key, func() (struct{}, error) {
		delete(m.objects, key)
		m.sorted = nil
		return struct{}{}, nil
	})
	return err
}

// keys returns the keys of all objects, sorted; the lock is held.
func (m *Mem) keys() []string {
	if m.sorted == nil {
		m.sorted = slices.Sorted(maps.Keys(m.objects))
	}
	return m.sorted
}

// List implements [store.Bucket].
func (m *Mem) List(ctx context.Context, prefix string, from store.Cursor) (store.Page, error) {
	return do(ctx, m, "list", prefix, func() (page store.Page, err error) {
		var names []string
		most := cmp.Or(m.PageSize, 3)
		keys := m.keys()
		at, _ := slices.BinarySearch(keys, max(prefix, from.Key, strings.TrimSuffix(from.Next, "/")))
		for _, k := range keys[at:] {
			rest, ok := strings.CutPrefix(k, prefix)
			if !ok && k > prefix || len(names) > most {
				break
			}
			if ok && (from.Next != "" || k > from.Key) {
				name, _, folder := strings.Cut(rest, "/")
				if folder {
					name += "/"
				}
				if name = prefix + name; name > from.Next && (len(names) == 0 || name != names[len(names)-1]) {
					names = append(names, name)
				}
			}
		}
		if len(names) > most {
			names, page.Next = names[:most], names[most-1]
		}
		for _, name := range names {
			if strings.HasSuffix(name, "/") {
				page.Folders = append(page.Folders, name)
			} else {
				page.Objects = append(page.Objects, m.objects[name].Object)
			}
		}
		return page, nil
	})
}

// Begin implements [store.Bucket].
func (m *Mem) Begin(ctx context.Context, key string) (store.Upload, error) {
	return do(ctx, m, "begin", key, func() (store.Upload, error) {
		if m.uploads == nil {
			m.uploads = map[string]*memUpload{}
		}
		m.last++
		id := fmt.Sprint(m.last)
		m.uploads[id] = &memUpload{key, map[int][]byte{}}
		return store.Upload{Key: key, ID: id}, nil
	})
}

// Upload implements [store.Bucket].
func (m *Mem) Upload(ctx context.Context, u store.Upload, number int, data []byte) (string, error) {
	return do(ctx, m, "part", u.Key, func() (string, error) {
		up, ok := m.uploads[u.ID]
		if !ok {
			return "", fs.ErrNotExist
		}
		up.parts[number] = slices.Clone(data)
		return fmt.Sprint(number), nil
	})
}

// Complete implements [store.Bucket].
func (m *Mem) Complete(ctx context.Context, u store.Upload, tags []string, when store.Condition) (store.Object, error) {
	return do(ctx, m, "complete", u.Key, func() (store.Object, error) {
		up, ok := m.uploads[u.ID]
		if !ok {
			return store.Object{}, fs.ErrNotExist
		}
		var data []byte
		for i := range tags {
			part, ok := up.parts[i+1]
			if !ok {
				return store.Object{}, errors.New("a part is missing")
			}
			data = append(data, part...)
		}
		o, err := m.write("complete", u.Key, data, when)
		if err == nil {
			delete(m.uploads, u.ID)
		}
		return o, err
	})
}

// Cancel implements [store.Bucket].
func (m *Mem) Cancel(ctx context.Context, u store.Upload) error {
	_, err := do(ctx, m, "cancel", u.Key, func() (struct{}, error) {
		if _, ok := m.uploads[u.ID]; !ok {
			return struct{}{}, fs.ErrNotExist
		}
		delete(m.uploads, u.ID)
		return struct{}{}, nil
	})
	return err
}

// Uploads implements [store.Bucket].
func (m *Mem) Uploads(ctx context.Context, key string) ([]store.Upload, error) {
	return do(ctx, m, "uploads", key, func() (uploads []store.Upload, err error) {
		for id, u := range m.uploads {
			if u.key == key {
				uploads = append(uploads, store.Upload{Key: key, ID: id})
			}
		}
		return uploads, nil
	})
}
