package tfrecord

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

// hostileFile is an entry of hostile/hostile.json.
type hostileFile struct {
	File    string
	Records *int // whole, sound framing
	Whole   *int // records before the damage
}

func TestHostileFilesReadUpToTheirDamage(t *testing.T) {
	var list struct{ Files []hostileFile }
	if err := json.Unmarshal(realdata.Read(t, "hostile/hostile.json"), &list); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, h := range list.Files {
		if !strings.HasPrefix(h.File, "tfrecord/") {
			continue
		}
		seen++
		t.Run(path.Base(h.File), func(t *testing.T) {
			got, err := read(realdata.Read(t, "hostile/"+h.File))
			switch {
			case h.Records != nil && (err != nil || len(got) != *h.Records):
				t.Errorf("got %d records, %v, want %d", len(got), err, *h.Records)
			case h.Whole != nil && (!errors.Is(err, ErrCorrupt) || len(got) != *h.Whole):
				t.Errorf("got %d records, %v, want %d and ErrCorrupt", len(got), err, *h.Whole)
			case strings.HasSuffix(h.File, ".gz") && h.Records == nil && !errors.Is(err, ErrCorrupt):
				t.Errorf("got %d records, %v, want ErrCorrupt", len(got), err)
			}
		})
	}
	if seen < 15 {
		t.Errorf("only %d hostile files found", seen)
	}
}

// TensorFlow's TFRecordWriter framed these records; framing them again gives the
// same bytes.
func TestFramesAreThoseOfTensorFlow(t *testing.T) {
	for name, want := range map[string]int{"seq64-dupe2": 1171, "seq512-short": 416} {
		f, err := os.Open("../pretrain/testdata/demo/" + name + ".tfrecord.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		zr, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		file, err := io.ReadAll(zr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(NewReader(bytes.NewReader(file), ReaderOptions{}))
		if err != nil || len(got) != want {
			t.Fatalf("%s: got %d records, %v, want %d", name, len(got), err, want)
		}
		if !bytes.Equal(frames(got...), file) {
			t.Errorf("%s: framing the records again gives other bytes", name)
		}
	}
}

// What other programs wrote is read, and framing it again gives their bytes.
func TestRealFilesAreReadAndFramedAgain(t *testing.T) {
	for name, want := range map[string]int{
		"bert-pretraining/sample_text-dupe5.tfrecord":      60,
		"bert-pretraining/sample_text-dupe10.tfrecord":     118,
		"bert-pretraining/sample_text-dupe5.tfrecord.gz":   60,
		"bert-pretraining/sample_text-dupe5.zlib.tfrecord": 60,
		"bert-mrpc/eval.tf_record":                         408,
		"tfx-csv-example-gen.tfrecord.gz":                  9977,
		"tfx-transformed-examples.tfrecord.gz":             10036,
		"pets_examples.record":                             10,
		"events.out.tfevents.1476472047.localhost":         71,
		"events.out.tfevents.bert-pretraining-eval":        5,
	} {
		t.Run(path.Base(name), func(t *testing.T) {
			file := realdata.Read(t, "tfrecord/"+name)
			r := NewReader(bytes.NewReader(file), ReaderOptions{})
			got, err := readAll(r)
			if err != nil || len(got) != want {
				t.Fatalf("got %d records, %v, want %d", len(got), err, want)
			}
			if r.Compression() == "" && !bytes.Equal(frames(got...), file) {
				t.Error("framing the records again gives other bytes")
			}
		})
	}
}
