package loader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/tinydata"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/loader"
)

// forms are the forms of records besides pairs.
var forms = []records.Form{records.Masked, records.Tokens, records.Packed, records.Pieces}

const formVocab = 100

// formFolder writes a folder of records of a form.
func formFolder(tb testing.TB, form records.Form, train int) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), string(form))
	if err := tinydata.Write(dir, tinydata.Options{Train: train, Eval: 2, Vocab: formVocab, Form: form}); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// formOptions are those of a source of records of a form.
func formOptions(form records.Form) loader.SourceOptions {
	o := sourceOptions()
	o.Heads = trainer.Heads{MLM: true}
	o.MaxSeqLength = 12
	o.Rules = records.Rules{VocabSize: formVocab, CLS: 2, SEP: 3}
	if !form.Masks() {
		o.Masking = &loader.Masking{Seed: 3, Prob: 0.2, Vocab: maskVocab()}
	}
	return o
}

// A seen is a sequence of a batch.
type seen struct {
	Sequence int64
	Original string // tokens before they were masked
	Input    string
	Masked   int
}

// sequencesOf returns the sequences of a step of one rank.
func sequencesOf(tb failer, src *loader.Source, position int64, n int) (all []seen) {
	tb.Helper()
	share, err := src.Step(position, n)
	if err != nil {
		tb.Fatal(err)
	}
	for b, err := range share.Batches {
		if err != nil {
			tb.Fatal(err)
		}
		if err := b.Validate(trainer.Config{VocabSize: formVocab, MaxPositions: 64, Segments: 2}, trainer.Heads{MLM: true}); err != nil {
			tb.Fatal(err)
		}
		original := slices.Clone(b.IDs)
		for i, at := range b.MaskedIndex {
			original[at] = b.MaskedIDs[i]
		}
		for s, p := range b.Sequence {
			from, to := b.CuSeqlens[s], b.CuSeqlens[s+1]
			one := seen{Sequence: p, Original: fmt.Sprint(original[from:to]), Input: fmt.Sprint(b.IDs[from:to])}
			for _, at := range b.MaskedIndex {
				if at >= from && at < to {
					one.Masked++
				}
			}
			all = append(all, one)
		}
	}
	return all
}

func originals(all []seen) (out []string) {
	for _, s := range all {
		out = append(out, s.Original)
	}
	slices.Sort(out)
	return out
}

// expected returns the sequences of an epoch, sorted, computed from the records
// in file order.
func expected(t *testing.T, s *loader.Shards, o loader.SourceOptions) (out []string) {
	t.Helper()
	for r, err := range s.Examples(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		ids := r.Example.InputIDs
		switch {
		case s.Form() == records.Tokens:
			most := o.MaxSeqLength - 2
			n := int(math.Ceil(float64(len(ids)) / float64(most)))
			for k := range n {
				piece := ids[len(ids)*k/n : len(ids)*(k+1)/n]
				if len(piece) > most || len(piece) < len(ids)/n {
					t.Fatalf("%d tokens in %d pieces: piece %d has %d", len(ids), n, k, len(piece))
				}
				out = append(out, fmt.Sprint(append(append([]int32{2}, piece...), 3)))
			}
		case s.Form() == records.Packed && !o.AttendAcross:
			for _, n := range r.Example.SequenceLengths {
				out = append(out, fmt.Sprint(ids[:n]))
				ids = ids[n:]
			}
		default:
			e := r.Example
			for i, at := range e.MaskedLMPositions[:e.Predictions()] {
				ids[at] = e.MaskedLMIDs[i]
			}
			out = append(out, fmt.Sprint(ids[:e.Tokens()]))
		}
	}
	slices.Sort(out)
	return out
}

func TestEveryEpochBringsEveryTokenOfEveryFormOnce(t *testing.T) {
	for _, form := range forms {
		for _, across := range []bool{false, true} {
			if across && form != records.Packed {
				continue
			}
			s := open(t, formFolder(t, form, 60), loader.Options{Split: sharding.Train})
			if s.Form() != form {
				t.Fatalf("got form %q, want %q", s.Form(), form)
			}
			o := formOptions(form)
			o.AttendAcross = across
			want := expected(t, s, o)
			src := newSource(t, s, o)
			first := sequencesOf(t, src, 0, int(src.Len()))
			second := sequencesOf(t, src, src.Len(), int(src.Len()))
			for epoch, got := range [][]seen{first, second} {
				if d := cmp.Diff(want, originals(got)); d != "" {
					t.Errorf("%s, epoch %d (-want +got):\n%s", form, epoch, d)
				}
			}
			numbers := map[int64]bool{}
			for _, one := range slices.Concat(first, second) {
				if numbers[one.Sequence] {
					t.Errorf("%s: two sequences have the number %d, and so the same dropout masks", form, one.Sequence)
				}
				numbers[one.Sequence] = true
			}
		}
	}
}

// For any ranks, batch size, place of a restart and readers, a position is the
// same sequences with the same masks.
func TestAPositionOfEveryFormStandsForTheSameSequences(t *testing.T) {
	for _, form := range forms {
		s := open(t, formFolder(t, form, 50), loader.Options{Split: sharding.Train})
		o := formOptions(form)
		if !form.Masks() {
			o.Masking.Later = []loader.MaskRate{{Position: 30, Prob: 0.6}}
		}
		whole := newSource(t, s, o)
		n := whole.Len()
		all := map[int64][]seen{} // by position
		for p := range 2 * n {
			all[p] = sequencesOf(t, whole, p, 1)
		}
		rapid.Check(t, func(t *rapid.T) {
			o := o
			o.Ranks, o.Readers = rapid.IntRange(1, 3).Draw(t, "ranks"), rapid.IntRange(0, 3).Draw(t, "readers")
			o.MicroBatchTokens = rapid.IntRange(24, 200).Draw(t, "tokens")
			position := rapid.Int64Range(0, n).Draw(t, "position")
			count := rapid.IntRange(1, int(n)).Draw(t, "examples")
			var got, want []seen
			for o.Rank = range o.Ranks {
				src := newSource(t, s, o)
				got = append(got, sequencesOf(t, src, position, count)...)
				src.Close()
			}
			for p := position; p < position+int64(count); p++ {
				want = append(want, all[p]...)
			}
			order := func(a, b seen) int { // by position, then by piece
				const places = 1<<48 - 1
				if d := a.Sequence&places - b.Sequence&places; d != 0 {
					return int(d)
				}
				return int(a.Sequence>>48 - b.Sequence>>48)
			}
			slices.SortFunc(got, order)
			slices.SortFunc(want, order)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s (-want +got):\n%s", form, d)
			}
		})
	}
}

// writeRecords writes a file of records without an index.
func writeRecords(t *testing.T, path string, payloads ...[]byte) {
	t.Helper()
	var b bytes.Buffer
	w := tfrecord.NewWriter(&b, tfrecord.WriterOptions{})
	for _, p := range payloads {
		if err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// The rate follows its schedule; other epochs, records and pieces have other
// masks; options set what the targets become.
func TestMasksOfRecordsWithoutMasksFollowTheOptions(t *testing.T) {
	for _, form := range []records.Form{records.Tokens, records.Packed, records.Pieces} {
		s := open(t, formFolder(t, form, 400), loader.Options{Split: sharding.Train})
		o := formOptions(form)
		half := newSource(t, s, o).Len() / 2
		o.Masking.Prob, o.Masking.Later = 0.4, []loader.MaskRate{{Position: half, Prob: 0.15}}
		o.Masking.Replace = &loader.Replacement{Mask: 0.5, Random: 0.25}
		src := newSource(t, s, o)
		for i, want := range []float64{0.4, 0.15} {
			masked, hidden, tokens := 0, 0, 0
			for _, one := range sequencesOf(t, src, int64(i)*half, int(half)) {
				masked += one.Masked
				fields := strings.Fields(strings.Trim(one.Input, "[]"))
				tokens += len(fields)
				for _, id := range fields {
					if id == "4" {
						hidden++
					}
				}
			}
			if rate := float64(masked) / float64(tokens); math.Abs(rate-want) > 0.04 {
				t.Errorf("%s: %.3f of the tokens are to be predicted, want %v", form, rate, want)
			}
			if part := float64(hidden) / float64(masked); math.Abs(part-0.5) > 0.06 {
				t.Errorf("%s: %.3f of the targets are [MASK], want 0.5", form, part)
			}
		}
		first, second := sequencesOf(t, src, half, int(half)), sequencesOf(t, src, 3*half, int(half))
		inputs := map[string]string{}
		for _, one := range first {
			inputs[one.Original] = one.Input
		}
		same, all := 0, 0
		for _, one := range second {
			if was, ok := inputs[one.Original]; ok && one.Masked > 0 {
				if all++; was == one.Input {
					same++
				}
			}
		}
		if all < 20 || same > all/2 {
			t.Errorf("%s: %d of %d sequences have the masks of the epoch before", form, same, all)
		}
	}
}

// The pieces of one document have masks of their own.
func TestPiecesOfADocumentHaveDifferentMasks(t *testing.T) {
	dir := t.TempDir()
	ids := slices.Repeat([]int32{50}, 400) // forty equal pieces
	writeRecords(t, filepath.Join(dir, "a.tfrecord"), (&records.Example{InputIDs: ids}).AppendForm(nil, records.Tokens))
	s := open(t, dir, loader.Options{})
	if s.Form() != records.Tokens {
		t.Fatalf("a third-party record of input_ids alone has the form %q", s.Form())
	}
	src := newSource(t, s, formOptions(records.Tokens))
	if src.Len() != 40 {
		t.Fatalf("%d sequences, want 40", src.Len())
	}
	kinds := map[string]bool{}
	for _, one := range sequencesOf(t, src, 0, 40) {
		kinds[one.Input] = true
	}
	if len(kinds) < 20 {
		t.Errorf("%d different masks of 40 pieces", len(kinds))
	}
}

// A corrupt document is a hole for each of its pieces; all others stay where
// they were.
func TestACorruptDocumentLeavesHoles(t *testing.T) {
	dir := formFolder(t, records.Tokens, 40)
	o := formOptions(records.Tokens)
	before := newSource(t, open(t, dir, loader.Options{Split: sharding.Train}), o)
	all := map[int64]seen{}
	for _, one := range sequencesOf(t, before, 0, int(before.Len())) {
		all[one.Sequence] = one
	}
	path := filepath.Join(dir, "train-00000-of-00002.tfrecord")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1 // the checksum of the last record
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := 0
	o.Quarantine = func(error) error { bad++; return nil }
	after := newSource(t, open(t, dir, loader.Options{Split: sharding.Train}), o)
	got := sequencesOf(t, after, 0, int(after.Len()))
	if bad == 0 || after.Len() != before.Len() || len(got) != int(before.Len())-bad {
		t.Errorf("%d bad sequences, %d of %d left, %d in an epoch", bad, len(got), before.Len(), after.Len())
	}
	for _, one := range got {
		if d := cmp.Diff(all[one.Sequence], one); d != "" {
			t.Errorf("another sequence at %d:\n%s", one.Sequence, d)
		}
	}
}

func TestOptionsThatDoNotSuitTheFormAreRefused(t *testing.T) {
	across := func(o *loader.SourceOptions) { o.AttendAcross = true }
	for _, c := range []struct {
		form   records.Form
		change func(*loader.SourceOptions)
		want   string
	}{
		{records.Tokens, func(o *loader.SourceOptions) { o.Masking = nil }, "have no masks: set Masking"},
		{records.Packed, func(o *loader.SourceOptions) { o.Masking = nil }, "have no masks: set Masking"},
		{records.Tokens, func(o *loader.SourceOptions) { o.MaxSeqLength = 0 }, "max_seq_length 0: must be from 3"},
		{records.Tokens, func(o *loader.SourceOptions) { o.MaxSeqLength = 65 }, "to the 64 tokens of a micro-batch"},
		{records.Pieces, func(o *loader.SourceOptions) { o.Masking = nil }, "have no masks: set Masking"},
		{records.Pieces, across, "attend_across: applies only to rows of pieces"},
		{records.Tokens, across, "attend_across: applies only to rows of pieces"},
		{records.Masked, across, "attend_across: applies only to rows of pieces"},
		{records.Packed, func(o *loader.SourceOptions) { o.Masking.Later = []loader.MaskRate{{5, 0.2}, {5, 0.1}} }, "positions must ascend"},
		{records.Packed, func(o *loader.SourceOptions) { o.Masking.Replace = &loader.Replacement{Mask: 0.8, Random: 0.3} }, "nor be above 1 together"},
	} {
		o := formOptions(c.form)
		c.change(&o)
		s := open(t, formFolder(t, c.form, 4), loader.Options{Split: sharding.Train})
		if _, err := loader.NewSource(context.Background(), s, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.form, err, c.want)
		}
	}
}

// A folder of third-party records has one form.
func TestRecordsOfTwoFormsAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	writeRecords(t, filepath.Join(dir, "a.tfrecord"), (&records.Example{InputIDs: []int32{7}}).AppendForm(nil, records.Tokens))
	packed := &records.Example{InputIDs: []int32{2, 7, 3}, SequenceLengths: []int32{3}}
	writeRecords(t, filepath.Join(dir, "b.tfrecord"), packed.AppendForm(nil, records.Packed))
	_, err := loader.Open(context.Background(), dir, loader.Options{})
	var usage interface{ Usage() bool }
	if !errors.As(err, &usage) || !strings.Contains(err.Error(), "b.tfrecord: its records are of the form packed, those of") {
		t.Errorf("got %v, want a usage error that names the forms", err)
	}
}
