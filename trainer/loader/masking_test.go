package loader_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/loader"
)

// maskVocab has 100 tokens: five special ones, words, and from 70 on pieces.
func maskVocab() loader.MaskVocab {
	return loader.MaskVocab{Size: 100, PAD: 0, CLS: 2, SEP: 3, MASK: 4, Continues: func(_, id int32) bool { return id >= 70 }}
}

const maskPlaces = 20 // max_predictions_per_seq of maskedExample

// maskedExample returns an example of 24 to 123 tokens and the tokens it had
// before it was masked: words, every third of them followed by two pieces.
func maskedExample(number int) (e *records.Example, original []int32) {
	n := 24 + number%100
	e = &records.Example{
		InputIDs: make([]int32, 128), InputMask: make([]int32, 128), SegmentIDs: make([]int32, 128),
		MaskedLMPositions: make([]int32, maskPlaces), MaskedLMIDs: make([]int32, maskPlaces), MaskedLMWeights: make([]float32, maskPlaces),
	}
	for i := range n {
		e.InputMask[i] = 1
		switch {
		case i == 0:
			e.InputIDs[i] = 2
		case i == n/2, i == n-1:
			e.InputIDs[i] = 3
		case i%5 > 2:
			e.InputIDs[i] = int32(70 + (number+i)%30)
		default:
			e.InputIDs[i] = int32(5 + (number*7+i)%65)
		}
		if i > n/2 {
			e.SegmentIDs[i] = 1
		}
	}
	original = slices.Clone(e.InputIDs[:n])
	for i := range 3 { // one hidden, one kept, one replaced
		at := int32(4*i + 1)
		e.MaskedLMPositions[i], e.MaskedLMIDs[i], e.MaskedLMWeights[i] = at, e.InputIDs[at], 1
	}
	e.InputIDs[1], e.InputIDs[9] = 4, 2 // chance may draw a special token too
	return e, original
}

// maskedShards writes files of examples numbered from 0 and opens them.
func maskedShards(tb testing.TB, sizes ...int) *loader.Shards {
	tb.Helper()
	dir, number := tb.TempDir(), 0
	for i, n := range sizes {
		var data []byte
		for range n {
			e, _ := maskedExample(number)
			data = tfrecord.AppendFrame(data, e.Append(nil))
			number++
		}
		writeFile(tb, filepath.Join(dir, fmt.Sprintf("%c.tfrecord", 'a'+i)), data)
	}
	return open(tb, dir, loader.Options{})
}

func maskingOptions() loader.SourceOptions {
	return loader.SourceOptions{Seed: 3, MicroBatchTokens: 256, Heads: trainer.PretrainHeads(),
		Masking: &loader.Masking{Seed: 11, Prob: 0.15, Vocab: maskVocab()}}
}

// A masked is one example as a batch holds it.
type masked struct {
	Position       int64
	IDs            []int32
	Places, Target []int32
}

// take returns the examples of a step.
func take(tb failer, src *loader.Source, position int64, n int) (out []masked) {
	share, err := src.Step(position, n)
	if err != nil {
		tb.Fatal(err)
	}
	for b, err := range share.Batches {
		if err != nil {
			tb.Fatal(err)
		}
		for s, p := range b.Sequence {
			lo, hi := b.CuSeqlens[s], b.CuSeqlens[s+1]
			m := masked{Position: p, IDs: slices.Clone(b.IDs[lo:hi])}
			for i, row := range b.MaskedIndex {
				if row >= lo && row < hi {
					m.Places, m.Target = append(m.Places, row-lo), append(m.Target, b.MaskedIDs[i])
				}
			}
			out = append(out, m)
		}
	}
	return out
}

// restored returns the tokens as they were before they were masked.
func (m masked) restored() []int32 {
	ids := slices.Clone(m.IDs)
	for i, at := range m.Places {
		ids[at] = m.Target[i]
	}
	return ids
}

func TestDynamicMasksHideTheOriginalsAsGoogleCounts(t *testing.T) {
	const n = 100
	originals := map[string]bool{}
	for i := range n {
		_, o := maskedExample(i)
		originals[fmt.Sprint(o)] = true
	}
	src := newSource(t, maskedShards(t, n), maskingOptions())
	for _, m := range take(t, src, 0, 3*n) {
		original := m.restored()
		if !originals[fmt.Sprint(original)] {
			t.Fatalf("position %d: with its targets put back it is no example of the file: %v", m.Position, original)
		}
		want := min(maskPlaces, max(1, int(math.RoundToEven(0.15*float64(len(original))))))
		if len(m.Places) != want {
			t.Errorf("position %d: %d targets in %d tokens, want %d", m.Position, len(m.Places), len(original), want)
		}
		if !slices.IsSorted(m.Places) || len(slices.Compact(slices.Clone(m.Places))) != len(m.Places) {
			t.Errorf("position %d: targets at %v, want ascending places, each once", m.Position, m.Places)
		}
		for _, id := range m.Target {
			if id == 0 || id == 2 || id == 3 {
				t.Errorf("position %d: %d is a target", m.Position, id)
			}
		}
	}
}

// Whatever the ranks, the readers and the place of a restart, an example of an
// epoch has one set of masks.
func TestDynamicMasksDependOnTheEpochAndTheRecordAlone(t *testing.T) {
	const n = 70
	shards := maskedShards(t, 20, 15, 35)
	want := take(t, newSource(t, shards, maskingOptions()), 0, 3*n)
	rapid.Check(t, func(rt *rapid.T) {
		opts := maskingOptions()
		opts.Ranks = rapid.IntRange(1, 4).Draw(rt, "ranks")
		opts.Readers = rapid.SampledFrom([]int{0, 1, 2, 4, 8}).Draw(rt, "readers")
		position := rapid.Int64Range(0, 2*n).Draw(rt, "position")
		count := rapid.IntRange(1, n).Draw(rt, "examples")
		var got []masked
		for opts.Rank = range opts.Ranks {
			src := newSource(rt, shards, opts)
			got = append(got, take(rt, src, position, count)...)
			if err := src.Close(); err != nil {
				rt.Fatal(err)
			}
		}
		slices.SortFunc(got, func(a, b masked) int { return int(a.Position - b.Position) })
		if d := cmp.Diff(want[position:position+int64(count)], got); d != "" {
			rt.Fatalf("examples (-want +got):\n%s", d)
		}
	})
}

func TestDynamicMasksChangeWithEpochFileRecordAndSeed(t *testing.T) {
	const n = 40
	first := func(seed uint64, epoch int64) map[string]string {
		opts := maskingOptions()
		opts.Masking.Seed = seed
		out := map[string]string{}
		for _, m := range take(t, newSource(t, maskedShards(t, n), opts), epoch*n, n) {
			out[fmt.Sprint(m.restored())] = fmt.Sprint(m.Places)
		}
		return out
	}
	base := first(11, 0)
	for name, other := range map[string]map[string]string{"another epoch": first(11, 1), "another seed": first(12, 0), "seed's high word": first(11|1<<40, 0)} {
		same := 0
		for k, v := range base {
			if other[k] == v {
				same++
			}
		}
		if same > n/10 {
			t.Errorf("%s: %d of %d examples have the same targets", name, same, n)
		}
	}
	// The same example at another place: as the first of each of two files, and behind itself.
	e, _ := maskedExample(60)
	frame := tfrecord.AppendFrame(nil, e.Append(nil))
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.tfrecord"), append(slices.Clone(frame), frame...))
	writeFile(t, filepath.Join(dir, "b.tfrecord"), frame)
	places := map[string]bool{}
	for _, m := range take(t, newSource(t, open(t, dir, loader.Options{}), maskingOptions()), 0, 3) {
		places[fmt.Sprint(m.Places)] = true
	}
	if len(places) != 3 {
		t.Errorf("got %d sets of targets for three copies of an example, want 3", len(places))
	}
}

// The draws are part of what a run's results depend on: they must not change.
func TestTheDynamicMasksOfAnExampleArePinned(t *testing.T) {
	opts := maskingOptions()
	got := take(t, newSource(t, maskedShards(t, 1), opts), 0, 2)
	want := []masked{
		{Position: 0, Places: []int32{5, 6, 16, 17}, Target: []int32{10, 11, 21, 22},
			IDs: []int32{2, 6, 7, 73, 74, 4, 54, 12, 78, 79, 15, 16, 3, 83, 84, 20, 4, 4, 88, 89, 25, 26, 27, 3}},
		{Position: 1, Places: []int32{13, 18, 19, 21}, Target: []int32{83, 88, 89, 26},
			IDs: []int32{2, 6, 7, 73, 74, 10, 11, 12, 78, 79, 15, 16, 3, 4, 84, 20, 21, 22, 4, 4, 25, 26, 27, 3}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("examples (-want +got):\n%s", d)
	}
}

// A side's masks do not depend on whether the other is read too.
func TestDynamicMasksOfAFileDoNotDependOnTheSelection(t *testing.T) {
	dir := t.TempDir()
	var data []byte
	for i := range 30 {
		e, _ := maskedExample(i)
		data = tfrecord.AppendFrame(data, e.Append(nil))
	}
	writeFile(t, filepath.Join(dir, "eval-00000-of-00001.tfrecord"), tfrecord.AppendFrame(nil, nil))
	writeFile(t, filepath.Join(dir, "train-00000-of-00001.tfrecord"), data)
	key := func(split string) map[string]string {
		opts, out := maskingOptions(), map[string]string{}
		opts.Quarantine = func(error) error { return nil }
		n := 30
		if split == "" {
			n = 31
		}
		for _, m := range take(t, newSource(t, open(t, dir, loader.Options{Split: split}), opts), 0, n) {
			out[fmt.Sprint(m.restored())] = fmt.Sprint(m.Places)
		}
		return out
	}
	if d := cmp.Diff(key(""), key(sharding.Train)); d != "" {
		t.Errorf("targets with both sides and with train alone (-both +train):\n%s", d)
	}
}

func TestWholeWordsAreHiddenTogether(t *testing.T) {
	opts := maskingOptions()
	opts.Masking.WholeWord = true
	v, pieces := opts.Masking.Vocab, 0
	for _, m := range take(t, newSource(t, maskedShards(t, 100), opts), 0, 200) {
		original, isTarget := m.restored(), map[int32]bool{}
		for _, at := range m.Places {
			isTarget[at] = true
		}
		for i := 1; i < len(original); i++ {
			if before := original[i-1]; !v.Continues(0, original[i]) || before == 2 || before == 3 {
				continue
			}
			if pieces++; isTarget[int32(i)] != isTarget[int32(i-1)] {
				t.Fatalf("position %d: a piece at %d parted from its word: targets %v of %v", m.Position, i, m.Places, original)
			}
		}
		if most := min(maskPlaces, max(1, int(math.RoundToEven(0.15*float64(len(original)))))); len(m.Places) > most || len(m.Places) == 0 {
			t.Errorf("position %d: %d targets, want 1 to %d", m.Position, len(m.Places), most)
		}
	}
	if pieces == 0 {
		t.Fatal("no example has pieces")
	}
}

// The shares of what becomes of a target, of the places chosen and of the tokens
// put in are those asked for. The bounds are of chi-squares at about six
// standard deviations; the draws are pinned, so the test's outcome does not
// change from run to run.
func TestDynamicMasksAreDrawnEvenly(t *testing.T) {
	const n, epochs = 200, 100
	opts := maskingOptions()
	src := newSource(t, maskedShards(t, n), opts)
	var kinds [3]float64
	byPlace, byToken := make([]float64, 128), make([]float64, opts.Masking.Vocab.Size)
	expected := make([]float64, 128)
	targets := 0.0
	for e := range int64(epochs) {
		for _, m := range take(t, src, e*n, n) {
			original := m.restored()
			candidates := float64(len(original) - 3)
			for i, id := range original {
				if id > 3 {
					expected[i] += float64(len(m.Places)) / candidates
				}
			}
			for i, at := range m.Places {
				targets++
				byPlace[at]++
				switch id := m.IDs[at]; id {
				case 4:
					kinds[0]++
				case m.Target[i]:
					kinds[1]++
				default:
					kinds[2]++
					byToken[id]++
				}
			}
		}
	}
	// A tenth of the targets gets a random token, which in 1 of 100 is [MASK] and in 1 of 100 the target's own.
	v := float64(len(byToken))
	want := [3]float64{targets * (0.8 + 0.1/v), targets * (0.1 + 0.1/v), targets * 0.1 * (1 - 2/v)}
	if x := chiSquare(kinds[:], want[:]); x > 30 {
		t.Errorf("[MASK], kept, random: got %.0f of %.0f, want %.0f: chi-square %.1f", kinds, targets, want, x)
	}
	for i := range expected { // the variance of a place is less than Poisson's: targets are drawn without putting back
		expected[i] = max(expected[i], 1e-9)
	}
	if x := chiSquare(byPlace, expected); x > 128+6*math.Sqrt(2*128) {
		t.Errorf("places of the targets: chi-square %.1f of 128 bins", x)
	}
	tokens := slices.Clone(byToken)
	tokens[4] = kinds[2] / v // counted as [MASK]
	even := make([]float64, len(tokens))
	for i := range even {
		even[i] = kinds[2] / v
	}
	if x := chiSquare(tokens, even); x > v+6*math.Sqrt(2*v) {
		t.Errorf("random tokens: chi-square %.1f of %.0f bins", x, v)
	}
}

func chiSquare(got, want []float64) (x float64) {
	for i, w := range want {
		x += (got[i] - w) * (got[i] - w) / w
	}
	return x
}

func TestWrongMaskingIsRefused(t *testing.T) {
	shards := maskedShards(t, 1)
	for want, m := range map[string]loader.Masking{
		"masked_lm_prob 0:":          {Vocab: maskVocab()},
		"masked_lm_prob NaN":         {Prob: math.NaN(), Vocab: maskVocab()},
		"masked_lm_prob 1:":          {Prob: 1, Vocab: maskVocab()},
		"max_predictions_per_seq -1": {Prob: 0.15, MaxPredictions: -1, Vocab: maskVocab()},
		"needs the vocabulary":       {Prob: 0.15},
		"of whole words, its pieces": {Prob: 0.15, WholeWord: true, Vocab: loader.MaskVocab{Size: 100}},
	} {
		opts := loader.SourceOptions{MicroBatchTokens: 128, Masking: &m}
		_, err := loader.NewSource(context.Background(), shards, opts)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestMaxPredictionsBoundsTheTargets(t *testing.T) {
	for _, most := range []int{1, 5, 30} {
		opts := maskingOptions()
		opts.Masking.MaxPredictions = most
		for _, m := range take(t, newSource(t, maskedShards(t, 100), opts), 0, 100) {
			if want := min(most, max(1, int(math.RoundToEven(0.15*float64(len(m.IDs)))))); len(m.Places) != want {
				t.Fatalf("at most %d: got %d targets of %d tokens, want %d", most, len(m.Places), len(m.IDs), want)
			}
		}
	}
}
