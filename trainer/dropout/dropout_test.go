package dropout_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/trainer/dropout"
)

// TestPhiloxGivesItsAuthorsVectors uses the known answers published with
// Random123 (kat_vectors, philox4x32 10).
func TestPhiloxGivesItsAuthorsVectors(t *testing.T) {
	cases := []struct {
		key     uint64
		counter [4]uint32
		want    [4]uint32
	}{
		{0, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			math.MaxUint64,
			[4]uint32{math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			0x299f31d0_a4093822,
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	}
	for _, c := range cases {
		if got := dropout.Philox(c.key, c.counter); got != c.want {
			t.Errorf("Philox(%x, %x): got %x, want %x", c.key, c.counter, got, c.want)
		}
	}
}

// golden holds what the CUDA kernels must reproduce: masks as '1' kept, '0'
// dropped.
var golden = []struct {
	seed     uint64
	p        float64
	position int64
	kind     dropout.Kind
	layer    int
	head     int // of Probabilities
	first    int // flat element, or query row
	want     string
}{
	{0x0, 0.5, 0, dropout.Embeddings, 0, 0, 0, "0011001010100010010110110000000010100000110010000111001001011010010100"},
	{0x1, 0.1, 5, dropout.AttentionOutput, 3, 0, 7, "1111111110011111111011111101111111111111101111111111111111111010111100"},
	{0x123456789abcdef0, 0.25, 8589934669, dropout.FeedForward, 23, 0, 1000003, "1110110000011111100111000101111111101010100101011111011111101111111110"},
	{0x9, 0.5, 12345678901, dropout.Pooled, 0, 0, 0, "1010010110011101100110111110110001010100001010111010111011010000000111"},
	{0x1, 0.5, 0, dropout.Probabilities, 0, 0, 0, "1111000001110011111001110010101111101101000101110101110110110001010111"},
	{0x1, 0.5, 3, dropout.Probabilities, 1, 2, 9, "1000011101011001011010010010101001110101100110010001001000101000011110"},
	{0xfedcba9876543210, 0.3, 1099511627776, dropout.Probabilities, 11, 255, 21, "0111011111100011111010111000111010110001111101001101111011101011100101"},
	{0x2, 0.1, 4294967295, dropout.Probabilities, 5, 15, 511, "1101111011111111111110111111111111111110110111111101111011111111110111"},
}

func maskOf(seed uint64, p float64, position int64, kind dropout.Kind, layer, head, first, n int) string {
	m := dropout.New(seed, p)
	x := make([]float64, n)
	if kind == dropout.Probabilities {
		x = make([]float64, (first+1)*n)
	}
	for i := range x {
		x[i] = 1
	}
	site := dropout.At(kind, layer)
	if kind == dropout.Probabilities {
		dropout.Attention(m, dropout.Scores[float64]{Values: x, Rows: first + 1, Keys: n, Stride: n, Head: head}, position, site)
		x = x[first*n:]
	} else {
		dropout.Hidden(m, x, position, site, first)
	}
	s := ""
	for _, v := range x {
		if v == 0 {
			s += "0"
		} else {
			s += "1"
		}
	}
	return s
}

func TestMasksEqualTheGoldenTable(t *testing.T) {
	for _, g := range golden {
		if got := maskOf(g.seed, g.p, g.position, g.kind, g.layer, g.head, g.first, len(g.want)); got != g.want {
			t.Errorf("%+v:\n got %s", g, got)
		}
	}
}

// TestSinglePrecisionDropsWhatDoublePrecisionDoes holds the vector code, which
// exists for float32, to the plain one.
func TestSinglePrecisionDropsWhatDoublePrecisionDoes(t *testing.T) {
	realdata.Vectors(t, "AVX2")
	rapid.Check(t, func(t *rapid.T) {
		position := rapid.Int64Min(0).Draw(t, "position")
		m := dropout.New(rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0, 0.99).Draw(t, "p"))
		n := rapid.IntRange(1, 700).Draw(t, "n")
		first := rapid.IntRange(0, 100).Draw(t, "first") * rapid.SampledFrom([]int{1, 16}).Draw(t, "step")
		single, double := pair(n)
		dropout.Hidden(m, single, position, dropout.At(dropout.FeedForward, 3), first)
		dropout.Hidden(m, double, position, dropout.At(dropout.FeedForward, 3), first)
		equal(t, single, double)

		rows, keys := rapid.IntRange(1, 40).Draw(t, "rows"), rapid.IntRange(1, 80).Draw(t, "keys")
		stride := keys + rapid.IntRange(0, 3).Draw(t, "gap")
		single, double = pair((rows-1)*stride + keys)
		head := rapid.IntRange(0, 255).Draw(t, "head")
		first = rapid.IntRange(0, 20).Draw(t, "block") * 16
		from := rapid.IntRange(0, 20).Draw(t, "key block") * 32
		dropout.Attention(m, dropout.Scores[float32]{Values: single, First: first, FirstKey: from, Rows: rows, Keys: keys, Stride: stride, Head: head}, position, dropout.At(dropout.Probabilities, 11))
		dropout.Attention(m, dropout.Scores[float64]{Values: double, First: first, FirstKey: from, Rows: rows, Keys: keys, Stride: stride, Head: head}, position, dropout.At(dropout.Probabilities, 11))
		equal(t, single, double)
	})
}

func pair(n int) (single []float32, double []float64) {
	for i := range n {
		single, double = append(single, float32(i+1)), append(double, float64(i+1))
	}
	return single, double
}

func equal(t *rapid.T, single []float32, double []float64) {
	t.Helper()
	for i, v := range double {
		if d := float64(single[i]) - v; d > 1e-6*v || d < -1e-6*v {
			t.Fatalf("element %d: single %v, double %v", i, single[i], v)
		}
	}
}

func TestHiddenMaskIsTheSameHoweverRowsAreCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		position := rapid.Int64Min(0).Draw(t, "position")
		m := dropout.New(rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0, 0.99).Draw(t, "p"))
		whole, parts := make([]float32, n), make([]float32, n)
		for i := range n {
			whole[i], parts[i] = float32(i+1), float32(i+1)
		}
		site := dropout.At(dropout.FeedForward, 3)
		dropout.Hidden(m, whole, position, site, 5)
		dropout.Hidden(m, parts[:cut], position, site, 5)
		dropout.Hidden(m, parts[cut:], position, site, 5+cut)
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAttentionMaskIsTheSameInAnyStrideAndSize(t *testing.T) {
	m, site := dropout.New(7, 0.3), dropout.At(dropout.Probabilities, 2)
	ones := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1
		}
		return x
	}
	large := ones(50 * 90)
	dropout.Attention(m, dropout.Scores[float64]{Values: large, Rows: 50, Keys: 90, Stride: 90, Head: 4}, 11, site)
	for _, size := range [][2]int{{1, 1}, {16, 32}, {17, 33}, {37, 71}} {
		rows, keys := size[0], size[1]
		small := ones(rows * 100)
		first := rows / 16 * 16 // the last rows alone
		dropout.Attention(m, dropout.Scores[float64]{Values: small, Rows: first, Keys: keys, Stride: 100, Head: 4}, 11, site)
		dropout.Attention(m, dropout.Scores[float64]{Values: small[first*100:], First: first, Rows: rows - first, Keys: keys, Stride: 100, Head: 4}, 11, site)
		for r := range rows {
			if diff := cmp.Diff(large[r*90:r*90+keys], small[r*100:r*100+keys]); diff != "" {
				t.Fatalf("%d×%d, row %d: %s", rows, keys, r, diff)
			}
		}
	}
}

func TestAttentionMaskIsTheSameForSomeRowsAndTwoMatrices(t *testing.T) {
	realdata.Vectors(t, "AVX2")
	rapid.Check(t, func(t *rapid.T) {
		const keys, first = 70, 32
		m, site := dropout.New(7, 0.3), dropout.At(dropout.Probabilities, 2)
		all, _ := pair(50 * keys)
		index := []int32{}
		var some, more []float32
		for r := range 50 {
			if rapid.Bool().Draw(t, "selected") {
				index = append(index, int32(first+r))
				some = append(some, all[r*keys:(r+1)*keys]...)
			}
		}
		more = slices.Clone(some)
		dropout.Attention(m, dropout.Scores[float32]{Values: all, First: first, Rows: 50, Keys: keys, Stride: keys, Head: 4}, 11, site)
		dropout.Attention(m, dropout.Scores[float32]{Values: some, More: more, First: first, Index: index, Rows: len(index), Keys: keys, Stride: keys, Head: 4}, 11, site)
		for i, r := range index {
			want := all[(r-first)*keys:][:keys]
			if !slices.Equal(some[i*keys:][:keys], want) || !slices.Equal(more[i*keys:][:keys], want) {
				t.Fatalf("row %d differs", r)
			}
		}
	})
}

func TestSitesPositionsAndHeadsHaveMasksOfTheirOwn(t *testing.T) {
	seen := map[string]string{}
	check := func(name, mask string) {
		if other, ok := seen[mask]; ok {
			t.Errorf("%s and %s have the same mask", name, other)
		}
		seen[mask] = name
	}
	for _, position := range []int64{0, 1, 1 << 32, 1<<40 + 1} {
		for layer := range 3 {
			for _, k := range []dropout.Kind{dropout.Embeddings, dropout.AttentionOutput, dropout.FeedForward, dropout.Pooled} {
				check(fmt.Sprint(position, layer, k), maskOf(1, 0.5, position, k, layer, 0, 0, 128))
			}
			for head := range 3 {
				check(fmt.Sprint(position, layer, "head", head), maskOf(1, 0.5, position, dropout.Probabilities, layer, head, 0, 128))
			}
		}
	}
	check("seed 2", maskOf(2, 0.5, 0, dropout.Embeddings, 0, 0, 0, 128))
	check("row 16", maskOf(1, 0.5, 0, dropout.Probabilities, 0, 0, 16, 128))
}

func TestShareOfDroppedElementsIsTheRoundedProbability(t *testing.T) {
	for _, p := range []float64{0.05, 0.1, 0.5, 0.9} {
		m := dropout.New(3, p)
		x := make([]float64, 1<<18)
		for i := range x {
			x[i] = 1
		}
		dropout.Hidden(m, x, 9, dropout.At(dropout.Embeddings, 0), 0)
		sum, kept := 0.0, 0.0
		for _, v := range x {
			sum += v
			if v != 0 {
				kept++
			}
		}
		n := float64(len(x))
		want := 1 - math.Round(256*p)/256
		if got := kept / n; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
			t.Errorf("p %v: kept %v, want about %v", p, got, want)
		}
		if got := sum / n; math.Abs(got-1) > 0.02 {
			t.Errorf("p %v: mean of what is left %v, want about 1", p, got)
		}
	}
}

func TestNoDropoutChangesNothing(t *testing.T) {
	x := []float32{1, 2, 3}
	for _, m := range []dropout.Mask{dropout.None(), dropout.New(1, 0), dropout.New(1, 0.001)} {
		dropout.Hidden(m, x, 0, 0, 0)
		dropout.Attention(m, dropout.Scores[float32]{Values: x, Rows: 1, Keys: 3, Stride: 3}, 0, 0)
		if m.Active() || m.Scale() != 1 {
			t.Errorf("mask %+v is active", m)
		}
	}
	if diff := cmp.Diff([]float32{1, 2, 3}, x); diff != "" {
		t.Error(diff)
	}
}

func Example() {
	m := dropout.New(42, 0.5)
	row := []float32{1, 1, 1, 1, 1, 1, 1, 1}
	dropout.Hidden(m, row, 1000, dropout.At(dropout.FeedForward, 0), 0)
	fmt.Println(row)
	// Output: [2 0 2 2 2 0 2 2]
}

func BenchmarkHidden(b *testing.B) {
	m, x := dropout.New(1, 0.1), make([]float32, 1<<14)
	b.SetBytes(int64(4 * len(x)))
	b.ReportAllocs()
	for b.Loop() {
		dropout.Hidden(m, x, 1, 0, 0)
	}
}

func BenchmarkAttention(b *testing.B) {
	m, x := dropout.New(1, 0.1), make([]float32, 128*128)
	b.SetBytes(int64(4 * len(x)))
	b.ReportAllocs()
	for b.Loop() {
		dropout.Attention(m, dropout.Scores[float32]{Values: x, Rows: 128, Keys: 128, Stride: 128}, 1, 0)
	}
}
