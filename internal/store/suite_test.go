package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pretext/internal/dev/storetest"
	"pretext/internal/store"
)

func TestFolders(t *testing.T) {
	t.Run("dir", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Folder { return open(t, filepath.Join(t.TempDir(), "a", "b")) })
	})
	t.Run("mem", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Folder { return newMem(t, new(storetest.Mem), "a/b") })
	})
	t.Run("mem bucket", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Folder { return newMem(t, new(storetest.Mem), "") })
	})
}

func open(t *testing.T, location string) store.Folder {
	t.Helper()
	f, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// buckets is the number of buckets of this process. An opened one stays open.
var buckets atomic.Int64

// newMem returns a folder in a bucket of its own.
func newMem(t *testing.T, m *storetest.Mem, prefix string) store.Folder {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, t.Name())
	name = fmt.Sprintf("%s-%d", name, buckets.Add(1)) // with -count, a test has several buckets
	m.Register(name)
	return open(t, "mem://"+name+"/"+prefix)
}
