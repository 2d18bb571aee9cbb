package loader_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
	"pretext/trainer/loader"
)

// lengthsOf returns the numbers of tokens of all examples in those files of a
// folder whose name contains part.
func lengthsOf(t *testing.T, folder, part string) (lengths []int32) {
	t.Helper()
	for r, err := range open(t, folder, loader.Options{}).Examples(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.File, part) {
			lengths = append(lengths, int32(r.Example.Tokens()))
		}
	}
	return lengths
}

// inTurn is how micro-batches were dealt before [trainer.Deal]: j to rank j mod R.
func inTurn(n, ranks int) [][]int {
	dealt := make([][]int, ranks)
	for j := range n {
		dealt[j%ranks] = append(dealt[j%ranks], j)
	}
	return dealt
}

// filled is how steps were cut before [trainer.Cut]: micro-batches of up to tokens
// tokens, each as long as possible.
func filled(lengths []int32, tokens int) []int {
	bounds, sum := []int{0}, 0
	for i, n := range lengths {
		if sum += int(n); sum > tokens {
			bounds, sum = append(bounds, i), int(n)
		}
	}
	return append(bounds, len(lengths))
}

// A balance is the mean load of the ranks divided by the largest: the fraction of
// a step in which a rank works, if its time is proportional to that load. least is
// the smallest number of tokens, as a fraction of the mean.
type balance struct{ tokens, squares, least float64 }

// String prints the balance of tokens and of squares.
func (b balance) String() string { return fmt.Sprintf("%.3f/%.3f", b.tokens, b.squares) }

func balanceOf(lengths []int32, bounds []int, dealt [][]int) balance {
	var most, total [2]float64
	least := math.Inf(1)
	for _, mine := range dealt {
		var load [2]float64
		for _, j := range mine {
			for _, n := range lengths[bounds[j]:bounds[j+1]] {
				load[0] += float64(n)
				load[1] += float64(n) * float64(n)
			}
		}
		least = min(least, load[0])
		for i := range load {
			most[i], total[i] = max(most[i], load[i]), total[i]+load[i]
		}
	}
	ranks := float64(len(dealt))
	return balance{total[0] / ranks / most[0], total[1] / ranks / most[1], least / total[0] * ranks}
}

// A summary is the mean and the least of balances.
type summary struct {
	mean, worst balance
	n           float64
}

func (s *summary) add(b balance) {
	if s.n == 0 {
		s.worst = b
	}
	s.worst = balance{min(s.worst.tokens, b.tokens), min(s.worst.squares, b.squares), min(s.worst.least, b.least)}
	s.mean.tokens += (b.tokens - s.mean.tokens) / (s.n + 1)
	s.mean.squares += (b.squares - s.mean.squares) / (s.n + 1)
	s.n++
}

// At a batch of 8,192 and 64 ranks, the tokens of every rank are within 3 % of the
// mean. Squared lengths are more even than if dealt in turn.
// The lengths are those of real examples, drawn at random.
func TestRanksHaveTheSameWork(t *testing.T) {
	const batch, ranks, steps = 8192, 64, 20
	// Many sequences of this set are short: a border between micro-batches can be
	// half of a long one off, so a rank may have somewhat less. None has more.
	short := map[string]float64{"demo, 512": 0.01}
	for name, from := range map[string][2]string{
		"demo, 64":                 {"../../records/pretrain/testdata/demo", "seq64"},
		"demo, 128":                {"../../records/pretrain/testdata/demo", "seq128"},
		"demo, 512":                {"../../records/pretrain/testdata/demo", "seq512"},
		"Wikipedia and books, 128": {"golden/pretraining", "128"},
		"Wikipedia and books, 512": {"golden/pretraining", "512"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := from[0]
			if folder[0] != '.' {
				folder = realdata.Path(t, folder)
			}
			real := lengthsOf(t, folder, from[1])
			if len(real) < 100 {
				t.Fatalf("%d examples", len(real))
			}
			r := rand.New(rand.NewPCG(14, 5))
			for _, tokens := range []int{2048, 8192, 65536} {
				var old, turn, dealt summary
				for range steps {
					lengths := make([]int32, batch)
					for i := range lengths {
						lengths[i] = real[r.IntN(len(real))]
					}
					bounds, err := trainer.Cut(lengths, tokens, ranks)
					if err != nil {
						t.Fatal(err)
					}
					greedy := filled(lengths, tokens)
					old.add(balanceOf(lengths, greedy, inTurn(len(greedy)-1, ranks)))
					turn.add(balanceOf(lengths, bounds, inTurn(len(bounds)-1, ranks)))
					d := trainer.Deal(lengths, bounds, ranks)
					dealt.add(balanceOf(lengths, bounds, d))
					if got, want := slices.Concat(d...), len(bounds)-1; len(got) != want {
						t.Fatalf("%d micro-batches dealt, want %d", len(got), want)
					}
				}
				t.Logf("T = %d, balance of tokens/squares, mean and worst: greedy cuts in turn %v %v, even cuts in turn %v %v, dealt %v %v",
					tokens, old.mean, old.worst, turn.mean, turn.worst, dealt.mean, dealt.worst)
				if 1/dealt.worst.tokens > 1.03 || dealt.worst.least < 0.97-short[name] {
					t.Errorf("T = %d: ranks have from %.3f to %.3f of the mean number of tokens", tokens, dealt.worst.least, 1/dealt.worst.tokens)
				}
				if dealt.mean.squares < turn.mean.squares-1e-9 {
					t.Errorf("T = %d: squared lengths are balanced to %.3f, in turn to %.3f", tokens, dealt.mean.squares, turn.mean.squares)
				}
			}
		})
	}
}
