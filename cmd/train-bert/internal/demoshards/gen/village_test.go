package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func storyOf(i int) []string { return tell(rand.New(rand.NewPCG(uint64(i), 1))) }

func TestStoriesAreSentencesAndAlwaysTheSame(t *testing.T) {
	for i := range 300 {
		told := storyOf(i)
		if !slices.Equal(told, storyOf(i)) {
			t.Fatalf("story %d is told in two ways", i)
		}
		for _, s := range told {
			if !strings.HasSuffix(s, ".") || strings.Contains(s, "  ") || strings.ToUpper(s[:1]) != s[:1] || len(strings.Fields(s)) > 40 {
				t.Errorf("story %d: %q", i, s)
			}
		}
	}
}

// What a villager needs is what the one named for it offers, in all stories.
func TestTheVillageIsCoherent(t *testing.T) {
	for _, v := range villagers {
		if byName(v.from).name == v.name {
			t.Errorf("%s asks %s", v.name, v.from)
		}
	}
	for _, a := range animals {
		byName(a.owner)
	}
}

// Of the sentences of stories that were never seen about one in three was: a model
// that knows all others by heart knows a third of these.
func TestMostSentencesOfUnseenStoriesAreNew(t *testing.T) {
	seen, known, all := map[string]bool{}, 0, 0
	for i := range stories {
		for _, s := range storyOf(i) {
			if i < stories*9/10 {
				seen[s] = true
				continue
			}
			if all++; seen[s] {
				known++
			}
		}
	}
	if share := float64(known) / float64(all); share < 0.25 || share > 0.4 {
		t.Errorf("%.2f of the last stories' sentences stand in the first, docs say a third", share)
	}
}
