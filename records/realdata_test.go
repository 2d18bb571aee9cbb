package records

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/records/tfrecord"
)

// payloads returns copies of all records of a file of the real data, or of
// pretrain/testdata.
func payloads(t testing.TB, name string) [][]byte {
	t.Helper()
	var file []byte
	if strings.HasPrefix(name, "pretrain/testdata/") {
		var err error
		if file, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	} else {
		file = realdata.Read(t, name)
	}
	var out [][]byte
	r := tfrecord.NewReader(bytes.NewReader(file), tfrecord.ReaderOptions{})
	for {
		p, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bytes.Clone(p))
	}
}

func TestHostileExamplesAreRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		record int
		want   string
	}{
		"not-a-proto":     {0, "not a tf.train.Example: "},
		"missing-feature": {3, "feature "},
		"short-feature":   {3, "feature "},
		"ids-too-big":     {3, "feature input_ids: value 0 is beyond 32 bits"},
		"ids-negative":    {3, "feature input_ids: value 0 is negative"},
		"wrong-type":      {3, "feature input_ids: float values, want int64"},
	} {
		t.Run(name, func(t *testing.T) {
			for i, p := range payloads(t, "hostile/tfrecord/"+name+".tfrecord") {
				err := new(Example).Decode(p)
				switch {
				case i != c.record && err != nil:
					t.Errorf("record %d is sound: %v", i, err)
				case i == c.record && (!errors.Is(err, ErrExample) || !bytes.HasPrefix([]byte(err.Error()), []byte(c.want))):
					t.Errorf("record %d: got %v, want %s", i, err, c.want)
				case i == c.record:
					t.Log(err)
				}
			}
		})
	}
}

func TestAnEmptyRecordLacksItsFeatures(t *testing.T) {
	refused := 0
	for _, p := range payloads(t, "hostile/tfrecord/zero-length-record.tfrecord") {
		if err := new(Example).Decode(p); err != nil {
			refused++
			if want := "feature input_ids: missing"; err.Error() != want || len(p) != 0 {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	if refused != 1 {
		t.Errorf("got %d records refused, want the empty one", refused)
	}
}

// intFeatures returns the int64 lists of a payload by name.
func intFeatures(t *testing.T, payload []byte) map[string][]int64 {
	t.Helper()
	out := map[string][]int64{}
	for f, err := range Features(payload) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == KindInt64 {
			out[f.Name] = f.AppendInts(nil)
		}
	}
	return out
}

// The file holds the int64 features of the first good record only.
func TestUnpackedListsAreRead(t *testing.T) {
	unpacked := payloads(t, "hostile/tfrecord/unpacked.tfrecord")[0]
	want := intFeatures(t, payloads(t, "hostile/tfrecord/good.tfrecord")[0])
	if diff := cmp.Diff(want, intFeatures(t, unpacked)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	err := new(Example).Decode(unpacked)
	if want := "feature masked_lm_weights: missing"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Files in the order of features that Append writes give their own bytes back;
// all are sound.
func TestRealExamplesDecodeAndEncodeAgain(t *testing.T) {
	for name, canonical := range map[string]bool{
		"tfrecord/bert-pretraining/sample_text-dupe10.tfrecord": false,
		"pretrain/testdata/demo/seq64-dupe2.tfrecord.gz":        true,
		"pretrain/testdata/demo/seq512-short.tfrecord.gz":       true,
		"golden/pretraining/uncased-128-dupe2.tfrecord.gz":      true,
		"golden/pretraining/cased-512-dupe1.tfrecord.gz":        true,
		"golden/tf/wwm-seed0.tfrecord.gz":                       true,
	} {
		t.Run(name, func(t *testing.T) {
			rules := Rules{VocabSize: 30522}
			for i, p := range payloads(t, name) {
				var e, again Example
				if err := e.Decode(p); err != nil {
					t.Fatal(err)
				}
				if err := rules.Check(&e); err != nil {
					t.Fatalf("record %d: %v", i, err)
				}
				out := e.Append(nil)
				if canonical && !bytes.Equal(out, p) {
					t.Fatalf("record %d: other bytes", i)
				}
				if err := again.Decode(out); err != nil || len(out) != len(p) {
					t.Fatalf("record %d: %d bytes, want %d; %v", i, len(out), len(p), err)
				}
				if diff := cmp.Diff(e, again); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestFeaturesOfForeignExamplesAreListed(t *testing.T) {
	for name, want := range map[string]int{
		"tfrecord/tfx-csv-example-gen.tfrecord.gz":      18,
		"tfrecord/tfx-transformed-examples.tfrecord.gz": 17,
		"tfrecord/pets_examples.record":                 16,
		"tfrecord/bert-mrpc/eval.tf_record":             5,
	} {
		t.Run(name, func(t *testing.T) {
			kinds := map[string]map[Kind]bool{}
			for _, p := range payloads(t, name) {
				for f, err := range Features(p) {
					if err != nil {
						t.Fatal(err)
					}
					if kinds[f.Name] == nil {
						kinds[f.Name] = map[Kind]bool{}
					}
					kinds[f.Name][f.Kind] = true
					if n := len(f.AppendInts(nil)) + len(f.AppendFloats(nil)) + len(f.AppendBytes(nil)); n != f.Count {
						t.Fatalf("%s: got %d values, want %d", f.Name, n, f.Count)
					}
				}
			}
			if len(kinds) != want {
				t.Errorf("got %d features, want %d: %v", len(kinds), want, kinds)
			}
		})
	}
}
