package pyrandom

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
)

// golden is one seed of testdata/golden.json, written by testdata/golden.py.
// Numbers that do not fit a float64 travel as strings.
type golden struct {
	Seed         int64       `json:"seed"`
	Bits32       []uint32    `json:"bits32"`
	Bits32Later  []uint32    `json:"bits32_after_2008"`
	RandomHex    []string    `json:"random_hex"`
	Bits         []string    `json:"bits"`
	Below        [][2]string `json:"below"`
	RandInt      [][3]string `json:"randint"`
	Shuffle      [][]int     `json:"shuffle"`
	ShuffleHead  []int       `json:"shuffle_10000_head"`
	NextAfterAll uint32      `json:"next_after_all"`
}

func readGoldens(t *testing.T) []golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var gs []golden
	if err := json.Unmarshal(raw, &gs); err != nil {
		t.Fatal(err)
	}
	if len(gs) < 10 {
		t.Fatalf("got %d seeds in golden.json, want at least 10", len(gs))
	}
	return gs
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs from CPython (-want +got):\n%s", what, diff)
	}
}

func TestNumbersAreThoseOfCPython(t *testing.T) {
	for _, g := range readGoldens(t) {
		t.Run(strconv.FormatInt(g.Seed, 10), func(t *testing.T) {
			checkWords(t, g)
			checkFloats(t, g)
			checkIntegers(t, g)
			checkShuffles(t, g)
		})
	}
}

func checkWords(t *testing.T, g golden) {
	words := func(r *Rand, n int) []uint32 {
		out := make([]uint32, n)
		for i := range out {
			out[i] = r.Uint32()
		}
		return out
	}
	r := New(g.Seed)
	equal(t, "getrandbits(32)", words(r, 8), g.Bits32)
	words(r, 2000)
	equal(t, "getrandbits(32) later", words(r, 8), g.Bits32Later)
}

func checkFloats(t *testing.T, g golden) {
	r := New(g.Seed)
	for _, want := range g.RandomHex {
		f, err := strconv.ParseFloat(want, 64)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "random()", r.Float64(), f)
	}
}

func checkIntegers(t *testing.T, g golden) {
	r := New(g.Seed)
	for k, want := range g.Bits {
		equal(t, "getrandbits("+strconv.Itoa(k)+")", fmt.Sprint(r.Bits(k)), want)
	}
	r = New(g.Seed)
	for _, c := range g.Below {
		n, err := strconv.ParseUint(c[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "_randbelow("+c[0]+")", fmt.Sprint(r.Below(n)), c[1])
	}
	r = New(g.Seed)
	for _, c := range g.RandInt {
		a, errA := strconv.ParseInt(c[0], 10, 64)
		b, errB := strconv.ParseInt(c[1], 10, 64)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		equal(t, "randint("+c[0]+", "+c[1]+")", fmt.Sprint(r.RandInt(a, b)), c[2])
	}
}

func checkShuffles(t *testing.T, g golden) {
	r := New(g.Seed)
	for _, want := range g.Shuffle {
		x := ascending(len(want))
		Shuffle(r, x)
		equal(t, "shuffle", x, want)
	}
	x := ascending(10000)
	Shuffle(r, x)
	equal(t, "shuffle of 10,000", x[:16], g.ShuffleHead)
	equal(t, "the draw after all shuffles", r.Uint32(), g.NextAfterAll)
}

func ascending(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}

func TestThresholdDecidesAsTheFloatComparisonDoes(t *testing.T) {
	for _, p := range []float64{0, -1, math.NaN(), 0.1, 0.15, 0.5, 0.8, 1, 2, math.Inf(1),
		math.SmallestNonzeroFloat64, 1 - 1.0/(1<<53), 1.0 / (1 << 53), 3.0 / (1 << 54)} {
		limit := Threshold(p)
		for _, v := range []uint64{0, 1, 2, limit - 1, limit, limit + 1, 1<<53 - 1} {
			if v >= 1<<53 {
				continue
			}
			if got, want := v < limit, float64(v)/(1<<53) < p; got != want {
				t.Errorf("p %v, draw %d: got %v, want %v", p, v, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64().Draw(t, "p")
		v := rapid.Uint64Range(0, 1<<53-1).Draw(t, "v")
		if got, want := v < Threshold(p), float64(v)/(1<<53) < p; got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// plainOutputs is the generator as its authors write it, one word at a time:
// what refill must equal.
func plainOutputs(state *[stateLen]uint32) (out [stateLen]uint32) {
	for i := range state {
		y := state[i]&upperMask | state[(i+1)%stateLen]&lowerMask
		state[i] = state[(i+middle)%stateLen] ^ y>>1
		if y&1 != 0 {
			state[i] ^= matrixA
		}
		y = state[i]
		y ^= y >> 11
		y ^= y << 7 & 0x9d2c5680
		y ^= y << 15 & 0xefc60000
		out[i] = y ^ y>>18
	}
	return out
}

// refills are the ways to make 624 outputs that this processor can use.
func refills() map[string]func(*Rand) {
	all := map[string]func(*Rand){"chosen": (*Rand).refill, "pairs": (*Rand).refillPairs}
	if fast() {
		all["blocks"] = (*Rand).refillBlocks
	}
	return all
}

// checkRefills compares each way to refill with the plain generator, from the
// state of r and from the two after it.
func checkRefills(t *testing.T, r *Rand) {
	t.Helper()
	for name, refill := range refills() {
		got := *r
		var state [stateLen]uint32
		for i, pair := range got.state {
			state[2*i], state[2*i+1] = uint32(pair), uint32(pair>>32)
		}
		for range 3 {
			refill(&got)
			if want := plainOutputs(&state); got.out != want {
				t.Fatalf("%s:\ngot  %x\nwant %x", name, got.out, want)
			}
		}
	}
}

func TestRefillsAreThePlainGenerator(t *testing.T) {
	realdata.Vectors(t, "AVX2", "NEON")
	for seed := range int64(comparedSeeds) {
		checkRefills(t, New(seed*0x9E3779B97F4A7C1)) // some of one word, most of two
	}
}

// comparedSeeds is the number of seeds for which refills are compared.
const comparedSeeds = 5000

// FuzzRefill compares refills from any state.
func FuzzRefill(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{0xff})
	f.Add([]byte("\x00\x00\x00\x80\x01\x00\x00\x00\xfe\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			return
		}
		r := new(Rand)
		for p := range r.state {
			for k := range 8 {
				r.state[p] |= uint64(raw[(8*p+k)%len(raw)]) << (8 * k)
			}
		}
		checkRefills(t, r)
	})
}

func TestShuffleIsThePlainLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64().Draw(t, "seed")
		n := rapid.OneOf(rapid.IntRange(0, 130), rapid.IntRange(0, 3000)).Draw(t, "n")
		skip := rapid.IntRange(0, 700).Draw(t, "outputs used before")
		got, want := ascending(n), ascending(n)
		a, b := New(seed), New(seed)
		for range skip {
			a.Uint32()
			b.Uint32()
		}
		Shuffle(a, got)
		for i := n - 1; i > 0; i-- {
			j := b.Below(uint64(i) + 1)
			want[i], want[j] = want[j], want[i]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if a.Uint32() != b.Uint32() {
			t.Fatal("other draws")
		}
	})
}

func TestCoinIsRandomBelowOneHalf(t *testing.T) {
	coin, float := New(3), New(3)
	for range 2000 {
		if coin.Coin() != (float.Float64() < 0.5) {
			t.Fatal("Coin is not random() < 0.5")
		}
	}
}

func TestCoinsAreSoManyCoins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64().Draw(t, "seed")
		a, b := New(seed), New(seed)
		for range rapid.IntRange(0, 700).Draw(t, "outputs used before") {
			a.Uint32()
			b.Uint32()
		}
		n, want := rapid.IntRange(-1, 2000).Draw(t, "n"), 0
		for range n {
			if b.Coin() {
				want++
			}
		}
		if got := a.Coins(n); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
		if a.Uint32() != b.Uint32() {
			t.Fatal("other draws")
		}
	})
}

func TestShuffleDrawsDependOnTheLengthAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Int64().Draw(t, "seed")
		x := rapid.SliceOf(rapid.String()).Draw(t, "x")
		a, b := New(seed), New(seed)
		Shuffle(a, x)
		Shuffle(b, make([]struct{}, len(x)))
		if a.Uint32() != b.Uint32() {
			t.Fatal("the generators differ after shuffles of equal length")
		}
	})
}

func TestSeedStartsAgain(t *testing.T) {
	r := New(5)
	r.Uint32()
	r.Seed(6)
	if got, want := r.Uint32(), New(6).Uint32(); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestAnEmptyRangeIsAMistakeOfTheCaller(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("RandInt(1, 0) did not panic")
		}
	}()
	New(0).RandInt(1, 0)
}

func BenchmarkUint32(b *testing.B) {
	r := New(1)
	b.SetBytes(4)
	b.ReportAllocs()
	var sum uint32
	for b.Loop() {
		sum += r.Uint32()
	}
	_ = sum
}

func BenchmarkRefill(b *testing.B) {
	for name, refill := range refills() {
		b.Run(name, func(b *testing.B) {
			r := New(1)
			b.SetBytes(4 * stateLen)
			for b.Loop() {
				refill(r)
			}
		})
	}
}

// BenchmarkShuffle125 shuffles as many candidates as an example of 128 tokens
// has.
func BenchmarkShuffle125(b *testing.B) {
	r := New(1)
	x := make([]uint16, 125)
	b.SetBytes(250)
	b.ReportAllocs()
	for b.Loop() {
		Shuffle(r, x)
	}
}

func TestAPermutationIsTheStartOfAShuffle(t *testing.T) {
	realdata.Vectors(t, "AVX-512 VBMI")
	realdata.Vectors(t, "AVX2", "NEON")
	forEachFollow(t, comparePermutationsOfSeeds)
}

// forEachFollow runs a test with follow and, where the processor can, with followVBMI.
func forEachFollow(t *testing.T, test func(*testing.T)) {
	test(t)
	if canVBMI && canTrace {
		canVBMI = false
		defer func() { canVBMI = true }()
		test(t)
	}
}

func comparePermutationsOfSeeds(t *testing.T) {
	r, plain := New(0), New(0)
	for seed := range torture.Cases(80_000, 1_000_000) {
		if seed%16 == 0 {
			r.Seed(int64(seed))
			plain.Seed(int64(seed))
		}
		n := seed % (tracedLen + 5)
		if seed%50 == 0 {
			n = seed % 1021
		}
		comparePermutations(t, r, plain, n, seed*7%(n+1))
	}
}

// comparePermutations compares the permutation that r makes with the shuffle that
// plain makes, one draw after the other, and the numbers of outputs that they use.
// Both must have the same state.
func comparePermutations(t *testing.T, r, plain *Rand, n, want int) {
	t.Helper()
	x := make([]uint16, n)
	for i := range x {
		x[i] = uint16(i)
	}
	for i := n - 1; i > 0; i-- {
		j := plain.Below(uint64(i) + 1)
		x[i], x[j] = x[j], x[i]
	}
	if got := r.Permutation(n, want); !slices.Equal(got, x[:want]) {
		t.Fatalf("%d of %d: got %d, want %d", want, n, got, x[:want])
	}
	if r.pos != plain.pos || r.out != plain.out {
		t.Fatalf("%d of %d: the next output is %d, want %d", want, n, r.pos, plain.pos)
	}
}

// FuzzPermutation compares permutations of all lengths from any state.
func FuzzPermutation(f *testing.F) {
	f.Add([]byte{1}, uint16(600), uint16(110), uint16(17))
	f.Add([]byte{0xff}, uint16(0), uint16(128), uint16(128))
	f.Add([]byte{0}, uint16(623), uint16(2), uint16(1))
	f.Fuzz(func(t *testing.T, raw []byte, used, n, want uint16) {
		if len(raw) == 0 {
			return
		}
		r := New(1)
		for i := range r.out { // outputs that no generator makes, such as rejected draws alone
			r.out[i] = uint32(raw[i%len(raw)]) * 0x01010101
		}
		r.pos = int(used) % (stateLen + 1)
		forEachFollow(t, func(t *testing.T) {
			r, plain := *r, *r
			comparePermutations(t, &r, &plain, int(n)%600, int(want)%(int(n)%600+1))
		})
	})
}

func TestAPermutationWithoutVectorsIsTheSame(t *testing.T) {
	realdata.Instructions(t, "AVX2", "NEON")
	forEachFollow(t, func(t *testing.T) {
		a, b := New(3), New(3)
		for n := range tracedLen + 1 {
			if got, want := a.Permutation(n, n), b.plainPermutation(n, n); !slices.Equal(got, want) {
				t.Errorf("got %d, want %d", got, want)
			}
		}
	})
}

// BenchmarkPermutation110 draws the order of an example's candidates, of which 17 are
// masked.
func BenchmarkPermutation110(b *testing.B) {
	for name, permutation := range map[string]func(*Rand, int, int) []uint16{"chosen": (*Rand).Permutation, "plain": (*Rand).plainPermutation} {
		b.Run(name, func(b *testing.B) {
			r := New(1)
			for b.Loop() {
				permutation(r, 110, 17)
			}
		})
	}
}
