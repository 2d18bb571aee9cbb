package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records/tfrecord"
)

// damagedOptions are the options of a run on two third-party files of 32
// records each. In the first file the payload of record 3 is corrupt, in the
// second file the length of record 28.
func damagedOptions(t *testing.T) Options {
	t.Helper()
	o := testOptions(t)
	ours := o.Data
	o.Data, o.EvalData, o.Vocab, o.OnDamage = filepath.Join(fastDir(t), "foreign"), ours, filepath.Join(ours, "vocab.txt"), "skip"
	if err := os.Mkdir(o.Data, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a.tfrecord", "b.tfrecord"} {
		b, err := os.ReadFile(filepath.Join(ours, []string{"train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord"}[i]))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			b[recordAt(t, b, 3)+40] ^= 1
		} else {
			b[recordAt(t, b, 28)] ^= 1
		}
		if err := os.WriteFile(filepath.Join(o.Data, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// The vocabulary of the held-out data is beside it, that of the others is told.
	vocab, err := os.ReadFile(o.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	o.Vocab = filepath.Join(fastDir(t), "vocab.txt")
	if err := os.WriteFile(o.Vocab, vocab, 0o666); err != nil {
		t.Fatal(err)
	}
	o.EvalData = foreignEval(t, ours)
	return o
}

// foreignEval copies the held-out records of ours to a folder without a
// manifest, and cuts the last one.
func foreignEval(t *testing.T, ours string) string {
	t.Helper()
	dir := filepath.Join(fastDir(t), "held")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(ours, "eval-00000-of-00002.tfrecord"))
	if err != nil {
		t.Fatal(err)
	}
	b[recordAt(t, b, 1)+40] ^= 1
	if err := os.WriteFile(filepath.Join(dir, "eval-00000-of-00001.tfrecord"), b[:len(b)-3], 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recordAt returns the offset of record n in a file.
func recordAt(t *testing.T, b []byte, n int64) int64 {
	t.Helper()
	r := tfrecord.NewReader(bytes.NewReader(b), tfrecord.ReaderOptions{})
	for r.Records() < n {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return r.Offset()
}

func TestWhatIsDamagedIsLeftOutCountedAndNamed(t *testing.T) {
	o := damagedOptions(t)
	var log bytes.Buffer
	o.Log = &log
	end, err := Train(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.tfrecord: record 3: ", "b.tfrecord: record 28: ", "bytes of the file are lost", "eval-00000-of-00001.tfrecord: record 7: "} {
		if strings.Count(log.String(), want) < 1 {
			t.Errorf("no %q on standard error:\n%s", want, &log)
		}
	}
	if n := strings.Count(log.String(), "record 3: "); n != 1 {
		t.Errorf("record 3 is named %d times", n)
	}
	if s := end.Skipped; s.Examples != 2 || s.Tails != 2 || s.Named != 3 || len(s.Places) != 3 {
		t.Errorf("got the skipped examples %+v", s)
	}
	var listed strings.Builder
	for _, d := range end.Skipped.Places {
		fmt.Fprintln(&listed, d)
	}
	for _, want := range []string{"a.tfrecord: record 3 at byte ", "b.tfrecord: record 28 at byte ", ", and all behind it: ", ", and all behind it (held out): "} {
		if !strings.Contains(listed.String(), want) {
			t.Errorf("no %q in the result:\n%s", want, &listed)
		}
	}
	var tails, places []any
	left, evalLeft := 0.0, 0.0
	for _, line := range steady(t, o.Out) {
		if n, ok := line["left_out"].(float64); ok {
			left += n
		}
		if n, ok := line["eval_left_out"].(float64); ok {
			evalLeft += n
		}
		if d, ok := line["damage"].(map[string]any); ok {
			if line["step"].(float64) == 0 {
				tails = append(tails, d["file"], d["record"], d["tail"], d["split"])
			} else {
				places = append(places, d["file"], d["record"], d["tail"], d["split"])
			}
		}
	}
	if diff := cmp.Diff([]any{"b.tfrecord", 28.0, true, nil, "eval-00000-of-00001.tfrecord", 7.0, true, "eval"}, tails); diff != "" {
		t.Errorf("tails in the metrics (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"a.tfrecord", 3.0, nil, nil}, places); diff != "" {
		t.Errorf("places in the metrics (-want +got):\n%s", diff)
	}
	if left != 2 || evalLeft != 3 { // two epochs, three evaluations
		t.Errorf("the metrics count %v examples and %v held-out ones, want 2 and 3", left, evalLeft)
	}
}

func TestARunThatLeavesOutDamageStoppedAtAnyStepEndsAsOneThatWasNot(t *testing.T) {
	o := damagedOptions(t)
	o.EvalExamples = 4
	stopInPlaces(t, o)
}

// The positions of all examples depend on where an unreadable end begins: a run
// does not resume if that has changed.
func TestARunDoesNotGoOnWhenAnotherPartOfItsDataIsReadable(t *testing.T) {
	o := damagedOptions(t)
	stopAt(t, o, 5)
	b, err := os.ReadFile(filepath.Join(o.Data, "b.tfrecord"))
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-300] ^= 1 // in a part that cannot be read
	b[recordAt(t, b, 20)] ^= 1
	if err := os.WriteFile(filepath.Join(o.Data, "b.tfrecord"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(o.Out, cacheName)); err != nil {
		t.Fatal(err)
	}
	_, err = Train(context.Background(), o)
	if want := `the checkpoint has "b.tfrecord from record 28", this run "b.tfrecord from record 20"`; err == nil || !errors.As(err, new(interface{ Usage() bool })) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	o.OnDamage = "stop"
	if _, err := Train(context.Background(), o); !errors.Is(err, tfrecord.ErrCorrupt) || !strings.Contains(err.Error(), "b.tfrecord: record 20") {
		t.Errorf("--on-damage stop: got %v, want the damage", err)
	}
}

// stopAt runs up to a step, and saves.
func stopAt(t *testing.T, o Options, stop int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(p Progress) {
		if p.Step == stop {
			cancel()
		}
	}
	if _, err := Train(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped at step %d: got %v, want %v", stop, err, context.Canceled)
	}
}
