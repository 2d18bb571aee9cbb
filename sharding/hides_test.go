package sharding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"pretext/internal/dev/storetest"
	"pretext/internal/failure"
	"pretext/internal/store"
)

// A hiding bucket lists nothing of a folder that an object has the name of, as MinIO does.
type hiding struct{ storetest.Mem }

// List implements [store.Bucket].
func (h *hiding) List(ctx context.Context, prefix string, from store.Cursor) (store.Page, error) {
	if _, err := h.Head(ctx, strings.TrimSuffix(prefix, "/")); err == nil {
		return store.Page{}, nil
	}
	page, err := h.Mem.List(ctx, prefix, from)
	folders := page.Folders[:0]
	for _, f := range page.Folders {
		if _, err := h.Head(ctx, strings.TrimSuffix(f, "/")); err != nil {
			folders = append(folders, f)
		}
	}
	page.Folders = folders
	return page, err
}

// hidingBuckets counts buckets: each run of the test needs a name of its own, since an open
// bucket is kept.
var hidingBuckets atomic.Int32

// An object that hides a folder of the data is refused, instead of an empty data set.
func TestAnObjectThatHidesAFolderIsRefused(t *testing.T) {
	b, root := &hiding{storetest.Mem{PageSize: 100}}, fmt.Sprintf("hiding://b%d/", hidingBuckets.Add(1))
	store.Register("hiding", func(string) (store.Bucket, error) { return b, nil })
	put := func(key string) {
		t.Helper()
		if _, err := b.Put(t.Context(), key, nil, store.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a/documents/manifest.json", "c/documents/manifest.json", "c/shards/manifest.json", "d/documents/manifest.json", "d/vocab/manifest.json", "e/x.tfrecord", "e/vocab", "empty.tfrecord"} {
		put(key)
	}
	open := func(location string) error { _, err := Open(t.Context(), location); return err }
	if err := open(root + "c"); err != nil {
		t.Errorf("before: %v", err)
	}
	put("a")
	put("c/shards")
	put("d/vocab")
	for location, object := range map[string]string{root + "a": root + "a", root + "c": root + "c/shards", root + "d": root + "d/vocab"} {
		if err := open(location); !failure.IsUsage(err) || !strings.HasPrefix(err.Error(), object+" is an object with the name of a folder") {
			t.Errorf("%s: %v", location, err)
		}
	}
	if err := open(root + "e"); failure.IsUsage(err) {
		t.Errorf("a file named vocab beside records: %v", err)
	}
	if err := open(root + "empty.tfrecord"); err != nil || errors.Is(err, ErrUnfinished) {
		t.Errorf("an empty file of records: %v", err)
	}
}
