package loader_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/trainer/loader"
)

func cacheFolder(tb testing.TB) string { return filepath.Join(tb.TempDir(), "cache") }

func cached(tb testing.TB, s *loader.Shards, cache string) *loader.Shards {
	tb.Helper()
	c, err := s.Cached(context.Background(), cache, loader.CacheOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// A run on compressed files, or on files of others, is the run on the same
// records uncompressed.
func TestACacheChangesNoPosition(t *testing.T) {
	plain := threeShards(t, false).write(t)
	want := draw(t, newSource(t, open(t, plain, loader.Options{}), sourceOptions()), 3, 30)

	var zlibbed bytes.Buffer
	foreign, names := t.TempDir(), []string{"eval-00000-of-00001", "train-00000-of-00002", "train-00001-of-00002"}
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join(plain, name+".tfrecord"))
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 0:
			name, b = name+".tfrecord.gz", zip(t, b)
		case 1:
			w := zlib.NewWriter(&zlibbed)
			w.Write(b)
			w.Close()
			b = zlibbed.Bytes()
		}
		writeFile(t, filepath.Join(foreign, name), b)
	}
	for name, path := range map[string]string{"ours, compressed": threeShards(t, true).write(t), "of others": foreign} {
		cache := cacheFolder(t)
		for _, run := range []string{"new", "again"} {
			s := cached(t, open(t, path, loader.Options{}), cache)
			if d := cmp.Diff(want, draw(t, newSource(t, s, sourceOptions()), 3, 30)); d != "" {
				t.Errorf("%s, %s cache (-without +with):\n%s", name, run, d)
			}
		}
	}
}

func TestACacheIsMadeOnceAndSaysWhatItCosts(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	data, _ := frames(upTo(0, 500))
	writeFile(t, filepath.Join(dir, "a.tfrecord"), data)
	writeFile(t, filepath.Join(dir, "b.tfrecord.gz"), zip(t, data))
	s, cache := open(t, dir, loader.Options{}), cacheFolder(t)
	cost, needed, err := s.CacheCost(ctx, cache)
	if err != nil || !needed {
		t.Fatalf("got %v, %v, want a cache to be needed", needed, err)
	}
	if cost.Files != 2 || cost.Compressed != 1 || cost.Bytes != int64(len(data)+len(zip(t, data))) ||
		cost.Written < int64(len(data))*9/10 || cost.Written > int64(len(data))*11/10 {
		t.Errorf("got %+v for %d bytes and the same compressed", cost, len(data))
	}
	cached(t, s, cache)
	if _, needed, err := s.CacheCost(ctx, cache); err != nil || needed {
		t.Errorf("a cache that was made: got needed %v, %v", needed, err)
	}
	// Another file under the name: its part is made anew.
	other, _ := frames(upTo(500, 1000))
	writeFile(t, filepath.Join(dir, "b.tfrecord.gz"), zip(t, other))
	s = open(t, dir, loader.Options{})
	if cost, needed, err := s.CacheCost(ctx, cache); err != nil || !needed || cost.Files != 1 {
		t.Errorf("a changed file: got %+v, %v, %v", cost, needed, err)
	}
	got, err := numbers(cached(t, s, cache))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(upTo(0, 1000), got); d != "" {
		t.Errorf("examples (-want +got):\n%s", d)
	}
	if _, needed, err := open(t, threeShards(t, false).write(t), loader.Options{}).CacheCost(ctx, cache); err != nil || needed {
		t.Errorf("shards of ours: got needed %v, %v", needed, err)
	}
}

func TestDamagedCompressionIsTold(t *testing.T) {
	data, _ := frames(upTo(0, 500))
	whole := zip(t, data)
	crc := bytes.Clone(whole)
	crc[len(crc)-6] ^= 1
	for name, b := range map[string][]byte{"cut": whole[:len(whole)/2], "checksum": crc, "cut in its header": whole[:12]} {
		path := filepath.Join(t.TempDir(), "a.tfrecord.gz")
		writeFile(t, path, b)
		cache := cacheFolder(t)
		_, err := open(t, path, loader.Options{}).Cached(context.Background(), cache, loader.CacheOptions{})
		if !errors.Is(err, tfrecord.ErrCorrupt) {
			t.Errorf("%s: got %v, want damage", name, err)
		}
		if infos, err := os.ReadDir(cache); err == nil && len(infos) > 0 {
			t.Errorf("%s: left %v behind", name, infos)
		}
	}
}

// A damaged record inside a compressed file is one bad example, as in any other
// file: the cache keeps its bytes.
func TestACacheKeepsDamageAsItIs(t *testing.T) {
	data, _ := frames(upTo(0, 10))
	data[frameOffset(t, data, 4)+30] ^= 1
	path := filepath.Join(t.TempDir(), "a.tfrecord")
	writeFile(t, path, zip(t, data))
	opts, bad := sourceOptions(), 0
	opts.Quarantine = func(error) error { bad++; return nil }
	got := draw(t, newSource(t, cached(t, open(t, path, loader.Options{}), cacheFolder(t)), opts), 0, 10)
	if len(got) != 9 || bad != 1 {
		t.Errorf("got %d examples and %d bad ones, want 9 and 1", len(got), bad)
	}
}

// Records of Google's script with GZIP, and those of its newer feature names.
func TestForeignCompressedExamplesMakeATrainingOrder(t *testing.T) {
	data := realdata.Read(t, "tfrecord/bert-pretraining/sample_text-dupe10.tfrecord")
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "part-00000-of-00001.gz"), zip(t, data))
	opts := sourceOptions()
	opts.MicroBatchTokens, opts.Rules = 512, records.Rules{VocabSize: 30522, CLS: 101, SEP: 102}
	src := newSource(t, cached(t, open(t, dir, loader.Options{}), cacheFolder(t)), opts)
	share, err := src.Step(0, 118)
	if err != nil || share.Counts.NSP != 118 || src.Len() != 118 {
		t.Errorf("got %+v of %d examples, %v, want 118", share.Counts, src.Len(), err)
	}
}
