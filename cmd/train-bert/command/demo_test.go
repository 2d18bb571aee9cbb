package command

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer/session"
)

// What the demo promises: it ends clearly under the unigram baseline of its own
// training shards, on examples that it did not see, and shows words that it got
// right. A plain run takes steps enough to learn the frequencies of the tokens, which is
// the baseline itself; less than a third of the demo's steps must do for 0.5 nat; with
// PRETEXT_TORTURE three seeds take all of them, for 3.
func TestTheDemoEndsUnderItsBaseline(t *testing.T) {
	o := demoOptions()
	seeds, least, shown := []uint64{1, 2, 3}, 3.0, session.ShownRight
	switch {
	case torture.Long():
	case torture.Full():
		o.NumTrainSteps, o.SaveCheckpointsSteps = 600, 0
		seeds, least, shown = seeds[:1], 0.5, 2
	default:
		o.NumTrainSteps, o.SaveCheckpointsSteps, o.TrainBatchSize, o.EvalExamples = 60, 0, 8, 64 // also without vector code
		seeds, least, shown = seeds[:1], -0.35, 0
	}
	for _, seed := range seeds {
		o := o
		o.Seed, o.Out = seed, t.TempDir()
		d, err := runDemo(context.Background(), o, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d: loss %.3f, unigram %.3f, uniform %.3f, %.1f s, %.1f s of processor time", seed, d.Loss, d.Unigram, d.Uniform, d.Seconds, d.CPU)
		if float64(d.Unigram-d.Loss) < least || least > 0 && d.Accuracy < 2*d.Frequent || d.Targets < 200 {
			t.Errorf("seed %d: loss %.3f of %d targets, accuracy %.3f; the unigram baseline has %.3f, %.3f", seed, d.Loss, d.Targets, d.Accuracy, d.Unigram, d.Frequent)
		}
		right := 0
		for _, a := range d.Predictions {
			if a.Right != (a.Guess == a.Answer) || strings.Count(a.Sentence, "[MASK]") != 1 || a.Probability <= 0 || a.Probability > 1 {
				t.Errorf("seed %d: %+v", seed, a)
			}
			if a.Right {
				right++
			}
		}
		if right < shown {
			t.Errorf("seed %d: %d words shown that it got right", seed, right)
		}
		var b bytes.Buffer
		if err := d.print(&b); err != nil {
			t.Fatal(err)
		}
		if below := strings.Contains(b.String(), "nats below the unigram baseline"); below != (least > 0) || !strings.Contains(b.String(), d.Predictions[0].Sentence) {
			t.Errorf("seed %d: the result says\n%s", seed, &b)
		}
	}
}

// The command to predict with is for the demo's own model: its words may be unknown to another.
func TestTheResultSaysWhatFitsTheModel(t *testing.T) {
	for _, own := range []bool{true, false} {
		d := demoResult{own: own, out: "OUT", data: "DATA", Model: "OUT/model", Curve: "OUT/curve.html"}
		var b bytes.Buffer
		if err := d.print(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "train-bert predict OUT"); got != own || !strings.Contains(b.String(), "model: OUT/model") {
			t.Errorf("own %t: the result says\n%s", own, &b)
		}
	}
}
