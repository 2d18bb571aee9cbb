package bert

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"pretext/trainer"
)

var tiny = trainer.Config{VocabSize: 100, HiddenSize: 8, Layers: 2, AttentionHeads: 2, IntermediateSize: 16, MaxPositions: 10, Segments: 2}

func TestALayoutHasEveryElementOnce(t *testing.T) {
	for _, pad := range []Padding{NoPadding(tiny), {Tensor: 64, Bucket: 192, Vocabulary: 128}} {
		l := NewLayout(tiny, trainer.PretrainHeads(), pad)
		end, bucket := 0, 0
		for _, i := range l.Flat {
			s := l.Specs[i]
			if bucket != 1+s.Layer {
				bucket, end = 1+s.Layer, l.Buckets[bucket].First+l.Buckets[bucket].N
			}
			if l.Offset[i] < end || l.Offset[i]-end >= pad.Tensor || l.Offset[i]%pad.Tensor != 0 {
				t.Errorf("%+v: %s is at %d, the tensor before ends at %d", pad, s.Name, l.Offset[i], end)
			}
			if b := l.Buckets[bucket]; l.Offset[i] < b.First || l.Offset[i]+s.Size() > b.First+b.N || b.N%pad.Bucket != 0 {
				t.Errorf("%+v: %s is outside of its bucket %+v", pad, s.Name, b)
			}
			rows := s.Shape[0]
			if rows == tiny.VocabSize {
				rows = pad.Vocabulary
			}
			end = l.Offset[i] + roundUp(rows*(s.Size()/s.Shape[0]), pad.Tensor)
		}
		if len(l.Buckets) != tiny.Layers+2 || l.Size != roundUp(end, pad.Bucket) {
			t.Errorf("%+v: %d buckets and %d elements, the last tensor ends at %d", pad, len(l.Buckets), l.Size, end)
		}
		name := "bert.encoder.layer.1.attention.self."
		q, k := l.Offset[l.Index(name+"query.weight")], l.Offset[l.Index(name+"key.weight")]
		if k != q+64 {
			t.Errorf("%+v: key is %d elements behind query, which has 64", pad, k-q)
		}
	}
}

func TestLoadReportsWhatDoesNotMatch(t *testing.T) {
	l := NewLayout(tiny, trainer.Heads{Span: true}, NoPadding(tiny))
	given := func(list ...trainer.Tensor) iter.Seq2[trainer.Tensor, error] {
		return func(yield func(trainer.Tensor, error) bool) {
			for _, x := range list {
				if !yield(x, nil) {
					return
				}
			}
		}
	}
	bias := trainer.Tensor{Name: "qa_outputs.bias", Shape: []int{2}, Data: []float32{3, 4}}
	var got []float32
	r, err := l.Load(given(bias, trainer.Tensor{Name: "x"}), func(i int, data []float32) {
		if l.Specs[i].Name == bias.Name {
			got = data
		}
	})
	if err != nil || !slices.Equal(r.Unexpected, []string{"x"}) || len(r.Missing) != len(l.Specs)-1 || !slices.Equal(got, bias.Data) {
		t.Errorf("stored %v, report %+v, error %v", got, r, err)
	}
	bias.Shape = []int{1, 2}
	if _, err := l.Load(given(bias), func(int, []float32) { t.Error("stored a tensor of another shape") }); err == nil || !strings.Contains(err.Error(), bias.Name) {
		t.Errorf("a wrong shape: %v", err)
	}
}

func TestTensorsEndsWithAnError(t *testing.T) {
	l := NewLayout(tiny, trainer.Heads{Span: true}, NoPadding(tiny))
	broken := errors.New("broken")
	n := 0
	for _, err := range l.Tensors(trainer.Weights, func(dst []float32, i int) ([]float32, error) {
		if i == 2 {
			return nil, broken
		}
		return append(dst, 1), nil
	}) {
		if n++; (n == 3) != errors.Is(err, broken) {
			t.Errorf("element %d: %v", n, err)
		}
	}
	if n != 3 {
		t.Errorf("%d elements, want 3", n)
	}
}

func TestTheSelectionHasTheRowsThatHeadsRead(t *testing.T) {
	b := &trainer.Batch{}
	for range 2 {
		b.Append(trainer.Sequence{IDs: []int32{1, 2, 3, 4}, Segments: make([]int32, 4), MaskedPositions: []int32{2}, MaskedIDs: []int32{5}, MaskedWeights: []float32{1}})
	}
	var s Selection
	for _, c := range []struct {
		heads trainer.Heads
		want  trainer.Output
		rows  []int32
	}{
		{heads: trainer.Heads{MLM: true}, rows: []int32{2, 6}},
		{heads: trainer.Heads{MLM: true, NSP: true}, rows: []int32{0, 2, 4, 6}},
		{heads: trainer.Heads{Labels: 3}, rows: []int32{0, 4}},
		{heads: trainer.Heads{Span: true}},
		{heads: trainer.Heads{MLM: true}, want: trainer.OutputHidden},
	} {
		s.Choose(b, c.heads, c.want)
		if s.All != (c.rows == nil) || !slices.Equal(s.Rows, c.rows) {
			t.Errorf("%+v: all %v, rows %v, want %v", c.heads, s.All, s.Rows, c.rows)
		}
		for i, r := range c.rows {
			if s.At(r) != i {
				t.Errorf("%+v: row %d is at %d, want %d", c.heads, r, s.At(r), i)
			}
		}
	}
}
