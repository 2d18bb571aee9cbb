package pretrain

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestACorpusMustFitTheBuilder(t *testing.T) {
	b := mustBuilder(t, DefaultOptions(), smallVocab(100), Scratch{})
	_, err := b.Build(context.Background(), NewCorpus(99), 1, nil)
	if want := "build examples: the corpus was made for a vocabulary of 99 tokens, but this vocabulary has 100"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	open := NewCorpus(100)
	if err := open.AddSentence([]int32{5}); err != nil {
		t.Fatal(err)
	}
	_, err = b.Build(context.Background(), open, 1, nil)
	if want := "build examples: the last document of the corpus was not ended with EndDocument"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCorpusRefusesIdsOutsideOfTheVocabulary(t *testing.T) {
	c := NewCorpus(100)
	for _, id := range []int32{-1, 100, math.MaxInt32, math.MinInt32} {
		if err := c.AddSentence([]int32{5, id}); err == nil {
			t.Errorf("id %d was accepted", id)
		}
	}
	if c.Tokens() != 0 || c.Sentences() != 0 {
		t.Errorf("got %d tokens in %d sentences, want none", c.Tokens(), c.Sentences())
	}
}

func TestCorpusGivesBackWhatItHolds(t *testing.T) {
	for _, size := range []int{1 << 16, 1<<16 + 1} {
		rapid.Check(t, func(t *rapid.T) {
			c := NewCorpus(size)
			for range 2 { // the second time after Reset
				var want []int32
				for range rapid.IntRange(0, 5).Draw(t, "sentences") {
					s := make([]int32, rapid.IntRange(0, 2*chunkIDs).Draw(t, "tokens"))
					for i := range s {
						s[i] = int32((len(want) + i*7) % size)
					}
					if err := c.AddSentence(s); err != nil {
						t.Fatal(err)
					}
					want = append(want, s...)
				}
				c.EndDocument()
				if int(c.Tokens()) != len(want) {
					t.Fatalf("got %d tokens, want %d", c.Tokens(), len(want))
				}
				from := rapid.IntRange(0, len(want)).Draw(t, "from")
				to := rapid.IntRange(from, len(want)).Draw(t, "to")
				got := make([]int32, to-from)
				c.read(got, span{uint32(from), uint32(to)})
				if !slices.Equal(got, want[from:to]) {
					t.Fatal("other tokens")
				}
				c.Reset()
			}
		})
	}
}

func TestCorpusTakesTwoBytesAToken(t *testing.T) {
	c := proseCorpus(t, 2000)
	if perToken := float64(c.MemoryBytes()) / float64(c.Tokens()); perToken > 2.5 {
		t.Errorf("got %.2f bytes a token", perToken)
	}
}
