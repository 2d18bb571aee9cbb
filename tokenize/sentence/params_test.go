package sentence

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/neurosnap/sentences/data"
)

func TestEnglishParametersAreTheLibrarysLessShe(t *testing.T) {
	raw, err := data.Asset("data/english.json")
	if err != nil {
		t.Fatal(err)
	}
	var library struct {
		AbbrevTypes, Collocations, SentStarters map[string]int
		OrthoContext                            map[string]int
	}
	if err := json.Unmarshal(raw, &library); err != nil {
		t.Fatal(err)
	}
	want := &parameters{words: map[string]wordInfo{}, pairs: map[string]struct{}{}}
	for w, context := range library.OrthoContext {
		want.words[w] |= wordInfo(context)
	}
	for w := range library.AbbrevTypes {
		want.words[w] |= abbreviation
	}
	delete(library.SentStarters, "she")
	for w := range library.SentStarters {
		want.words[w] |= starter
	}
	for pair := range library.Collocations {
		first, second, _ := strings.Cut(pair, ",")
		want.words[first] |= pairFirst
		want.words[second] |= pairSecond
		want.pairs[first+"\t"+second] = struct{}{}
	}
	got := parametersOf("en")
	if !maps.Equal(got.words, want.words) {
		t.Errorf("words differ: got %d, want %d", len(got.words), len(want.words))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want.pairs)), slices.Sorted(maps.Keys(got.pairs))); diff != "" {
		t.Errorf("collocations differ (-want +got):\n%s", diff)
	}
}

func TestEveryLanguageHasItsParameters(t *testing.T) {
	// Abbreviations, collocations and starters of NLTK's punkt_tab.
	want := map[string][3]int{
		"cs": {118, 96, 54}, "da": {211, 101, 64}, "de": {71, 28, 107}, "el": {100, 7, 54}, "en": {156, 37, 39}, "es": {66, 7, 46},
		"et": {48, 100, 89}, "fi": {81, 167, 86}, "fr": {61, 18, 48}, "it": {125, 6, 40}, "nl": {99, 37, 54}, "no": {106, 54, 63},
		"pl": {225, 57, 71}, "pt": {72, 5, 40}, "sl": {73, 74, 58}, "sv": {39, 8, 49}, "tr": {67, 14, 87},
	}
	got := map[string][3]int{}
	for _, code := range Languages() {
		p := parametersOf(code)
		n := [3]int{1: len(p.pairs)}
		for _, info := range p.words {
			if info&abbreviation != 0 {
				n[0]++
			}
			if info&starter != 0 {
				n[2]++
			}
		}
		got[code] = n
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts differ (-want +got):\n%s", diff)
	}
}

func TestDamagedParametersAreRefused(t *testing.T) {
	for _, text := range []string{"x word\n", "o zz word\n", "o 10word\n", "c single\n", "\n", "o ff word\n", "a \n"} {
		if _, err := parseParameters(text); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}
