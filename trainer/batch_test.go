package trainer_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
)

func exampleBatch() *trainer.Batch {
	b := &trainer.Batch{}
	b.Append(trainer.Sequence{
		IDs: []int32{2, 5, 3}, Segments: []int32{0, 0, 1}, MaskedPositions: []int32{1, 0}, MaskedIDs: []int32{7, 0}, MaskedWeights: []float32{1, 0},
		NSPLabel: 1, Position: 40,
	})
	b.Append(trainer.Sequence{
		IDs: []int32{2, 3}, Segments: []int32{0, 1}, MaskedPositions: []int32{1}, MaskedIDs: []int32{9}, MaskedWeights: []float32{0.5},
		NSPLabel: trainer.NoLabel, Position: 41,
	})
	return b
}

func TestAppendedSequencesStandOneAfterAnother(t *testing.T) {
	want := &trainer.Batch{
		CuSeqlens: []int32{0, 3, 5}, IDs: []int32{2, 5, 3, 2, 3}, Segments: []int32{0, 0, 1, 0, 1}, Positions: []int32{0, 1, 2, 0, 1},
		Sequence: []int64{40, 41}, MaskedIndex: []int32{1, 4}, MaskedIDs: []int32{7, 9}, MaskedWeights: []float32{1, 0.5},
		NSPLabels: []int32{1, trainer.NoLabel},
	}
	b := exampleBatch()
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	c := trainer.Config{VocabSize: 10, MaxPositions: 3, Segments: 2}
	if err := b.Validate(c, trainer.PretrainHeads()); err != nil {
		t.Error(err)
	}
	if got, want := b.Counts(trainer.PretrainHeads()), (trainer.Counts{MaskedWeight: 1.5, NSP: 1}); got != want {
		t.Errorf("counts: got %+v, want %+v", got, want)
	}
	b.Reset()
	if b.Tokens()+b.Sequences()+b.Masked() != 0 {
		t.Errorf("after Reset: %+v", b)
	}
	b.Append(trainer.Sequence{IDs: []int32{1}, Segments: []int32{0}, NSPLabel: 0})
	if err := b.Validate(c, trainer.PretrainHeads()); err != nil || b.Sequences() != 1 {
		t.Errorf("after Reset and Append: %+v, %v", b, err)
	}
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	c := trainer.Config{VocabSize: 10, MaxPositions: 3, Segments: 2}
	h := trainer.Heads{MLM: true, NSP: true, Labels: 2, Span: true}
	for want, change := range map[string]func(*trainer.Batch){
		"bounds":                       func(b *trainer.Batch) { b.CuSeqlens[2] = 4 },
		"sequence 0":                   func(b *trainer.Batch) { b.CuSeqlens[1] = 0 },
		"wrong length":                 func(b *trainer.Batch) { b.Segments = b.Segments[1:] },
		"token id 10":                  func(b *trainer.Batch) { b.IDs[4] = 10 },
		"segment -1":                   func(b *trainer.Batch) { b.Segments[0] = -1 },
		"position 3":                   func(b *trainer.Batch) { b.Positions[0] = 3 },
		"masked index":                 func(b *trainer.Batch) { b.MaskedIndex[0] = 5 },
		"masked id":                    func(b *trainer.Batch) { b.MaskedIDs[1] = 11 },
		"masked weight":                func(b *trainer.Batch) { b.MaskedWeights[0] = float32(math.NaN()) },
		"different length":             func(b *trainer.Batch) { b.MaskedIDs = b.MaskedIDs[1:] },
		"next sentence":                func(b *trainer.Batch) { b.NSPLabels[0] = 2 },
		"label: 1 for 2":               func(b *trainer.Batch) { b.Labels = b.Labels[1:] },
		"answer":                       func(b *trainer.Batch) { b.Ends[1] = 2 },
		"start 3":                      func(b *trainer.Batch) { b.Starts[0] = 3 },
		"0 visible keys":               func(b *trainer.Batch) { b.VisibleKeys = []int32{0, 1} },
		"visible keys: 1 values for 2": func(b *trainer.Batch) { b.VisibleKeys = []int32{1} },
	} {
		b := exampleBatch()
		b.Labels, b.Starts, b.Ends = []int32{0, 1}, []int32{0, 1}, []int32{2, 1}
		if err := b.Validate(c, h); err != nil {
			t.Fatal(err)
		}
		change(b)
		if err := b.Validate(c, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if err := (&trainer.Batch{}).Validate(c, h); err == nil {
		t.Error("an empty batch was accepted")
	}
}

func TestSumsAddUpAndAverage(t *testing.T) {
	s := trainer.Sums{MLMLoss: 6, MLMWeight: 3, NSPLoss: 1, NSPCount: 2}.Add(trainer.Sums{LabelLoss: 4, LabelCount: 2, Tokens: 9})
	if diff := cmp.Diff(s, trainer.SumsOf(s.Vector())); diff != "" {
		t.Error(diff)
	}
	if want := 6/(3+1e-5) + 0.5 + 2; math.Abs(s.Loss()-want) > 1e-12 {
		t.Errorf("loss %v, want %v", s.Loss(), want)
	}
	if (trainer.Sums{}).Loss() != 0 {
		t.Error("the loss of nothing is not 0")
	}
}
