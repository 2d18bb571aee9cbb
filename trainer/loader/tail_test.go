package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// tails has tails of files left out, and notes which.
func tails(found *[]*loader.TailError) loader.SourceOptions {
	opts := sourceOptions()
	opts.Quarantine = func(bad error) error {
		var tail *loader.TailError
		if errors.As(bad, &tail) {
			*found = append(*found, tail)
		}
		return nil
	}
	return opts
}

// broken writes a folder of files that cannot be read to their ends, and one of
// what can be read of them.
func broken(t *testing.T) (damaged, readable string) {
	t.Helper()
	damaged, readable = t.TempDir(), t.TempDir()
	a, _ := frames(upTo(0, 10))
	b, _ := frames(upTo(10, 15))
	c, _ := frames(upTo(15, 3000))
	at := frameOffset(t, a, 6)
	writeFile(t, filepath.Join(readable, "a.tfrecord"), slices.Clone(a[:at]))
	a[at+1] ^= 2 // of the length
	writeFile(t, filepath.Join(damaged, "a.tfrecord"), a)
	for _, dir := range []string{damaged, readable} {
		writeFile(t, filepath.Join(dir, "b.tfrecord"), b)
	}
	zipped := zip(t, c)
	half := zipped[:len(zipped)/2]
	writeFile(t, filepath.Join(damaged, "c.tfrecord.gz"), half)
	stream, _, err := tfrecord.Uncompressed(strings.NewReader(string(half)))
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for r := tfrecord.NewReader(stream, tfrecord.ReaderOptions{}); ; whole = int(r.Offset()) {
		if _, err := r.Next(); err == io.EOF || errors.Is(err, tfrecord.ErrCorrupt) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if whole == 0 || whole == len(c) {
		t.Fatalf("%d bytes of %d can be read", whole, len(c))
	}
	writeFile(t, filepath.Join(readable, "c.tfrecord"), c[:whole])
	writeFile(t, filepath.Join(damaged, "d.tfrecord"), []byte{1, 2, 3})
	writeFile(t, filepath.Join(damaged, "e.tfrecord.gz"), zip(t, b)[:12])
	return damaged, readable
}

func TestAFileThatCannotBeReadToItsEndIsReadUpToThere(t *testing.T) {
	damaged, readable := broken(t)
	want := newSource(t, open(t, readable, loader.Options{}), sourceOptions())
	n := want.Len()
	whole := draw(t, want, n/2, int(n))
	cache := cacheFolder(t)
	var first []string
	for _, run := range []string{"new", "again", "new after the cache was lost"} {
		if strings.HasSuffix(run, "lost") {
			cache = cacheFolder(t)
		}
		var found []*loader.TailError
		for readers := range 3 {
			s, err := open(t, damaged, loader.Options{}).Cached(context.Background(), cache, loader.CacheOptions{SkipDamage: true})
			if err != nil {
				t.Fatalf("%s: %v", run, err)
			}
			found = nil
			opts := tails(&found)
			opts.Readers = readers
			src := newSource(t, s, opts)
			if src.Len() != n {
				t.Fatalf("%s: got %d examples, want %d", run, src.Len(), n)
			}
			if d := cmp.Diff(whole, draw(t, src, n/2, int(n))); d != "" {
				t.Errorf("%s, %d readers: other examples than of what can be read (-want +got):\n%s", run, readers, d)
			}
			src.Close()
		}
		var said []string
		for _, tail := range found {
			said = append(said, fmt.Sprintf("%s %d %d %d", filepath.Base(tail.File), tail.Record, tail.Offset, tail.Bytes))
			if !errors.Is(tail, tfrecord.ErrCorrupt) {
				t.Errorf("%v: is no damage", tail)
			}
		}
		if len(said) != 4 || !strings.HasPrefix(said[0], "a.tfrecord 6 ") || !strings.HasPrefix(said[1], "c.tfrecord.gz ") || said[2] != "d.tfrecord 0 0 3" {
			t.Errorf("%s: got the tails %q", run, said)
		}
		if first == nil {
			first = said
		}
		if d := cmp.Diff(first, said); d != "" {
			t.Errorf("%s: other tails than the first time:\n%s", run, d)
		}
	}
	if _, err := open(t, damaged, loader.Options{}).Cached(context.Background(), cache, loader.CacheOptions{}); !errors.Is(err, tfrecord.ErrCorrupt) || !strings.Contains(err.Error(), "a.tfrecord: record 6") {
		t.Errorf("without a quarantine: got %v, want the damage that the cache remembers", err)
	}
}

// Wherever a byte of a file of others is wrong, a quarantine gets every example
// that lies before it, and no wrong one; a cache changes nothing.
func TestWhereverAByteIsWrongWhatLiesBeforeItIsRead(t *testing.T) {
	const n = 4
	data, _ := frames(upTo(0, n))
	dir, err := os.MkdirTemp("/dev/shm", "pretext-test-") // in memory where there is such a place: each cache is synced
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.tfrecord")
	cache := filepath.Join(dir, "cache")
	for at := range data {
		b := slices.Clone(data)
		b[at] ^= 0x41
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		before := 0
		for before < n-1 && frameOffset(t, data, before+1) <= at {
			before++
		}
		s := open(t, path, loader.Options{})
		c, err := s.Cached(context.Background(), cache, loader.CacheOptions{SkipDamage: true})
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		for _, s := range []*loader.Shards{s, c} {
			got := quarantined(t, s)
			for i := range before {
				if !slices.Contains(got, i) {
					t.Errorf("byte %d: got the examples %v, without %d", at, got, i)
				}
			}
			if slices.Contains(got, before) || len(got) > n-1 {
				t.Errorf("byte %d: got the examples %v, with the damaged one", at, got)
			}
		}
	}
}

// quarantined returns the numbers of the examples of an epoch, sorted, as far as
// they can be read.
func quarantined(t *testing.T, s *loader.Shards) []int {
	t.Helper()
	opts := sourceOptions()
	opts.Rules = records.Rules{}
	opts.Quarantine = func(error) error { return nil }
	src, err := loader.NewSource(context.Background(), s, opts)
	if errors.Is(err, sharding.ErrNoShards) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(numbersOf(draw(t, src, 0, int(src.Len())))))
}
