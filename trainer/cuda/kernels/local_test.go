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

// checkBand counts the sectors that are copied into tiles: of a band of ±64, three tiles of
// keys for a tile of queries, or two at the ends of the sequence.
func checkBand(f *fixture) { f.band(64, 3*bandTiles-2) }

// bandTiles are the tiles of checkBand's sequence.
const bandTiles = 5

// band fails unless pairs of tiles, of queries and keys, are read.
func (f *fixture) band(reach, pairs int) {
	const tiles, sectors = bandTiles, headSize * headSize * 2 / 32 // of a tile
	a := f.unsolved(f.normal(tiles*64*3*headSize), 1, 0, []int{tiles * 64}, nil)
	a.reach, a.delta = reach, make([]float64, tiles*64)
	f.flashAttention(a, false)
	f.flashAttention(a, true)
	for name, want := range map[string]int{
		"forward":  2 * (tiles + 2*pairs), // runs twice: queries, then keys and values
		"backward": 2*tiles + 2*pairs, "backward_keys": 2*tiles + 2*pairs, "backward_queries": 2*tiles + 2*pairs,
	} {
		got, err := copied(f.kernel("flash", "flash_local_"+name))
		f.must(err)
		if want *= sectors; got != want {
			f.must(fmt.Errorf("reach %d: flash_local_%s copied %d sectors, want %d", reach, name, got, want))
		}
	}
}

func TestLocalFlashReadsTheBandAlone(t *testing.T) {
	if gpu != nil {
		t.Skip("the simulator counts")
	}
	bands := map[int]int{0: bandTiles, 64: 3*bandTiles - 2, 65: 5*bandTiles - 6}
	if all() {
		bands[1], bands[63], bands[1000] = bands[64], bands[64], bandTiles*bandTiles
	}
	for reach, pairs := range bands {
		if err := newFixture(kernels.BF16, 1).run(func(f *fixture) { f.band(reach, pairs) }); err != nil {
			t.Error(err)
		}
	}
}

// copied returns the sectors that a kernel's asynchronous copies have read.
func copied(k *sim.Kernel) (int, error) {
	text, err := os.ReadFile("flash.cu")
	if err != nil {
		return 0, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "DEV void copy_async(") {
			return int(k.CountsByLine()[fmt.Sprintf("flash.cu:%d", i+1)].Sectors), nil
		}
	}
	return 0, fmt.Errorf("flash.cu has no copy_async")
}
