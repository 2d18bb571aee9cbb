package kernels_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

// local makes a problem with a window: a query attends to keys at most reach away.
func (f *fixture) local(reach, heads int, p float64, lengths ...int) *attention {
	return f.localTo(reach, heads, p, lengths, nil)
}

// localTo is local with some keys that nobody attends to; every query must reach another one.
func (f *fixture) localTo(reach, heads int, p float64, lengths []int, visible []int32) *attention {
	tokens := 0
	for _, n := range lengths {
		tokens += n
	}
	a := f.unsolved(f.normal(tokens*3*heads*headSize), heads, p, lengths, visible)
	a.reach = reach
	a.solveAll(f, p, lengths, visible)
	return a
}

func (f *fixture) localOf(qkv []float64, reach, heads int, p float64, lengths ...int) *attention {
	a := f.unsolved(qkv, heads, p, lengths, nil)
	a.reach = reach
	a.solveAll(f, p, lengths, nil)
	return a
}

// eachLocal calls solve with windows that end within a tile, at its edges and behind the
// sequence, and with one of the token itself.
func (f *fixture) eachLocal(solve func(a *attention)) {
	solve(f.local(5, 2, 0.1, 33, 1))
	solve(f.local(5, 1, 0.1, 1, 134))
	solve(f.local(64, 1, 0.5, 195))
	solve(f.local(1000, 1, 0, 65))
	if all() {
		// A window of the token alone has no gradient of queries and keys to compare with:
		// checkHardLocalFlash has one, element by element.
		for _, reach := range []int{1, 10, 31, 32, 62, 63, 65, 127, 128} {
			solve(f.local(reach, 1, 0.1, 129, 63, 2))
		}
	}
}

func checkLocal(f *fixture) { f.eachLocal(func(a *attention) { a.holds(f, f.plainAttention(a), 4) }) }

func checkLocalFlash(f *fixture) {
	f.eachLocal(func(a *attention) {
		a.holds(f, f.flashAttention(a, false), 2)
		a.holds(f, f.flashAttention(a, true), 2)
	})
}

// hardLocal makes a problem whose largest scores, of 100, are just outside of the window,
// while all within it are about −100, and the other way round.
func (f *fixture) hardLocal(reach int) *attention {
	lengths := []int{90, 140}
	qkv := f.largeScores(lengths, func(sequence, k int) float64 {
		if sequence == 1 && k/(reach+1)%2 == 1 {
			return -1
		}
		return 1
	})
	return f.localOf(qkv, reach, 1, 0.1, lengths...)
}

func checkHardLocal(f *fixture) {
	a := f.hardLocal(7)
	a.holdsElements(f, f.plainAttention(a))
}

func checkHardLocalFlash(f *fixture) {
	for _, reach := range []int{0, 40} {
		a := f.hardLocal(reach)
		a.holdsElements(f, f.flashAttention(a, false))
		a.holdsElements(f, f.flashAttention(a, true))
	}
}

func TestLocalAttention(t *testing.T) { eachType(t, kernels.F32, checkLocal) }
func TestLocalFlash(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16, kernels.F16}, checkLocalFlash)
}
func TestHardLocalAttention(t *testing.T) { eachType(t, kernels.F32, checkHardLocal) }
func TestHardLocalFlash(t *testing.T) {
	inTypes(t, kernels.F16, []kernels.Type{kernels.BF16, kernels.F16}, checkHardLocalFlash)
}

// checkBand counts what is read of a band of ±64.
func checkBand(f *fixture) { f.band(64, 5*tile) }

const tile = 64 // rows of a tile of flash.cu

// band fails unless the kernels read, of n tokens, the pairs of tiles that have a query and a
// key within reach, and no other one.
func (f *fixture) band(reach, n int) {
	a := f.unsolved(f.normal(n*3*headSize), 1, 0, []int{n}, nil)
	a.reach, a.delta = reach, make([]float64, n)
	f.flashAttention(a, false)
	f.flashAttention(a, true)
	const sectors = tile * headSize * 2 / 32 // of a tile; the last row of a sequence stands for those behind it
	tiles, pairs := blocks(n, tile), 0
	for q := range tiles {
		for k := range tiles {
			if d := max(q, k) - min(q, k); (d-1)*tile < reach { // the nearest rows are (d-1)·64 + 1 apart
				pairs++
			}
		}
	}
	for name, want := range map[string]int{
		"forward":  2 * (tiles + 2*pairs), // runs twice: queries, then keys and values
		"backward": 2*tiles + 2*pairs, "backward_keys": 2*tiles + 2*pairs, "backward_queries": 2*tiles + 2*pairs,
	} {
		got, err := sectorsOf(f.kernel("flash", "flash_local_"+name), "flash.cu", "DEV void copy_async(")
		f.must(err)
		if want *= sectors; got != want {
			f.must(fmt.Errorf("reach %d, %d tokens: flash_local_%s copied %d sectors, want %d", reach, n, name, got, want))
		}
	}
}

// TestLocalFlashReadsTheBandAlone has windows of the token alone, odd ones, those that end at
// a tile's edge and beside it, and one that is longer than the sequence.
func TestLocalFlashReadsTheBandAlone(t *testing.T) {
	if gpu != nil {
		t.Skip("the simulator counts")
	}
	type band struct{ reach, tokens int }
	bands := []band{{0, 320}, {64, 320}, {65, 200}}
	if all() {
		for _, reach := range []int{0, 1, 10, 63, 64, 65, 128, 3000} {
			bands = append(bands, band{reach, 512})
		}
		bands = append(bands, band{0, 1000}, band{10, 1000}, band{64, 1000}, band{64, 8192})
	}
	for _, b := range bands {
		if err := newFixture(kernels.BF16, 1).run(func(f *fixture) { f.band(b.reach, b.tokens) }); err != nil {
			t.Error(err)
		}
	}
}

// TestLocalAttentionReadsTheBandAlone counts the keys that the plain kernels read for each
// query, and the queries for each key: those that one of a block of four reaches.
func TestLocalAttentionReadsTheBandAlone(t *testing.T) {
	if gpu != nil {
		t.Skip("the simulator counts")
	}
	const n, sectors = 101, headSize * 4 / 32 // of a row
	for _, reach := range []int{0, 7, 1000} {
		err := newFixture(kernels.F32, 1).run(func(f *fixture) {
			f.plainAttention(f.local(reach, 1, 0, n))
			rows := 0
			for r := range n {
				first := r / 4 * 4
				rows += min(n, first+4+reach) - max(0, first-reach)
			}
			for name, line := range map[string]string{"forward": "o0 += pj * value(v[lane])", "backward_queries": "dq0 += x * value(key[lane])", "backward_keys": "dk0 += x * value(query[lane])"} {
				got, err := sectorsOf(f.kernel("attention", "attention_local_"+name), "attention.cu", line)
				f.must(err)
				if want := rows * sectors; got != want {
					f.must(fmt.Errorf("reach %d: attention_local_%s read %d sectors, want %d", reach, name, got, want))
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// sectorsOf returns the sectors that a source line of a kernel has read.
func sectorsOf(k *sim.Kernel, file, part string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, part) {
			return int(k.CountsByLine()[fmt.Sprintf("%s:%d", file, i+1)].Sectors), nil
		}
	}
	return 0, fmt.Errorf("%s has no line with %q", file, part)
}
