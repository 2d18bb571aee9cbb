package tokenize_test

import (
	"fmt"
	"slices"
	"testing"

	"pretext/tokenize"
)

// mixedOptions are those that lower-case or remove accents and not both, and those
// that leave ideographs in their words.
func mixedOptions() (out []tokenize.Options) {
	for _, lower := range []bool{true, false} {
		for _, strip := range []bool{true, false} {
			for _, alone := range []bool{true, false} {
				if lower != strip || !alone {
					out = append(out, tokenize.Options{DoLowerCase: lower, StripAccents: &strip, TokenizeChineseChars: &alone})
				}
			}
		}
	}
	return out
}

func nameOf(o tokenize.Options) string {
	return fmt.Sprintf("lower %v, strip %v, ideographs alone %v", o.DoLowerCase, *o.StripAccents, *o.TokenizeChineseChars)
}

// TestEveryCodePointUnderMixedOptions compares splitter and encoder with the
// reference, whose basic tokens transformers extends by the two options in the same
// way.
func TestEveryCodePointUnderMixedOptions(t *testing.T) {
	needOracle(t)
	v := smallVocab(t)
	for _, o := range mixedOptions() {
		t.Run(nameOf(o), func(t *testing.T) {
			t.Parallel()
			words, err := tokenize.NewWordSplitter(o)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := tokenize.New(v, o)
			if err != nil {
				t.Fatal(err)
			}
			slow, e := newReference(v, o), tok.NewEncoder()
			var got, want []string
			for _, r := range tested() {
				text := contexts(r)
				want = slow.words(text)
				if got = words.AppendWords(got[:0], text); !slices.Equal(got, want) {
					t.Fatalf("%U:\ngot  %+q\nwant %+q", r, got, want)
				}
				want = want[:0]
				for _, word := range got {
					want = append(want, slow.pieces(word)...)
				}
				for range 2 { // the second time from the caches
					if got = e.AppendTokens(got[:0], text); !slices.Equal(got, want) {
						t.Fatalf("%U:\ngot  %+q\nwant %+q", r, got, want)
					}
				}
			}
		})
	}
}

func TestMixedOptionsOnTexts(t *testing.T) {
	needOracle(t)
	v := smallVocab(t)
	for _, o := range mixedOptions() {
		tok, err := tokenize.New(v, o)
		if err != nil {
			t.Fatal(err)
		}
		slow, e := newReference(v, o), tok.NewEncoder()
		for _, text := range fuzzSeeds() {
			if got, want := e.AppendTokens(nil, text), slow.tokens(text); !slices.Equal(got, want) {
				t.Errorf("%s: %q:\ngot  %q\nwant %q", nameOf(o), text, got, want)
			}
			ids, spans := e.AppendOffsets(nil, nil, text)
			if !slices.Equal(ids, e.AppendIDs(nil, text)) || len(spans) != len(ids) {
				t.Errorf("%s: %q: AppendOffsets differs from AppendIDs", nameOf(o), text)
			}
		}
	}
}
