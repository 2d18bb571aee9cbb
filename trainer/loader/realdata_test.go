package loader_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/trainer/loader"
)

func count(t *testing.T, s *loader.Shards, rules records.Rules) (n int) {
	t.Helper()
	for r, err := range s.Examples(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := rules.Check(r.Example); err != nil {
			t.Errorf("%s: record %d: %v", r.File, r.Index, err)
		}
		n++
	}
	return n
}

// A folder of files that TensorFlow wrote for google-research/bert, one of them
// compressed with gzip and one with zlib.
func TestAFolderOfGoogleIsRead(t *testing.T) {
	s := open(t, realdata.Path(t, "tfrecord/bert-pretraining"), loader.Options{})
	if n := count(t, s, records.Rules{MaxSeqLength: 128, MaxPredictionsPerSeq: 20}); n != 118+60+60+60 {
		t.Errorf("got %d examples, want 118 and three times 60", n)
	}
}

// The folder that holds them also holds text and scripts, which are no records.
func TestTheDemosGoldenFilesAreRead(t *testing.T) {
	s := open(t, "../../records/pretrain/testdata/demo", loader.Options{})
	if n := count(t, s, records.Rules{}); n != 1171+328+416 {
		t.Errorf("got %d examples, want 1171, 328 and 416", n)
	}
}

func TestEveryGoldenFileIsRead(t *testing.T) {
	for _, name := range []string{"golden/tf", "golden/pretraining"} {
		s := open(t, realdata.Path(t, name), loader.Options{})
		if n := count(t, s, records.Rules{}); n == 0 || len(s.Files()) < 2 {
			t.Errorf("%s: got %d examples of %d files", name, n, len(s.Files()))
		}
	}
}

// Files made to mislead a reader: each is read, or refused as what it is.
func TestHostileFilesAreReadOrDamage(t *testing.T) {
	dir := realdata.Path(t, "hostile/tfrecord")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s, err := loader.Open(context.Background(), filepath.Join(dir, f.Name()), loader.Options{})
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
			continue
		}
		_, err = numbers(s)
		if err != nil && !errors.Is(err, tfrecord.ErrCorrupt) && !errors.Is(err, records.ErrExample) {
			t.Errorf("%s: got %v, want an error of damage", f.Name(), err)
		}
	}
}
