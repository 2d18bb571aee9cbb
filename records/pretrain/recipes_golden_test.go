package pretrain

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pretext/records"
)

// A recipeCase is one case of testdata/recipes.json, written by
// testdata/recipes.py: a second implementation of the recipes.
type recipeCase struct {
	Options
	Name      string
	Recipe    string
	Seed      int64
	Vocab     int
	Documents int
	Examples  []recipeExample
}

type recipeExample struct {
	Tokens, Positions, Labels, Lengths []int32
}

func TestRecordsOfRecipesAreThoseOfAPythonVersion(t *testing.T) {
	raw, err := os.ReadFile("testdata/recipes.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []recipeCase
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 10 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, g := range cases {
		t.Run(g.Name, func(t *testing.T) {
			var documents [][][]int32
			for d := range g.Documents {
				documents = append(documents, goldenDocument(d, g.Vocab))
			}
			b, form := g.maker(t)
			var got []recipeExample
			_, err := b.Build(t.Context(), corpusOf(t, g.Vocab, documents), g.Seed, func(r Record) error {
				var e records.Example
				if err := e.DecodeForm(form, r.Payload); err != nil {
					return err
				}
				n := e.Predictions()
				got = append(got, recipeExample{e.InputIDs[:e.Tokens()], e.MaskedLMPositions[:n], e.MaskedLMIDs[:n], e.SequenceLengths})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.Examples, got, cmpopts.EquateEmpty()); diff != "" || len(got) < 2 {
				t.Errorf("%d records (-want +got):\n%.3000s", len(got), diff)
			}
		})
	}
}

// maker returns the builder of the case.
func (g *recipeCase) maker(t *testing.T) (b maker, f records.Form) {
	var err error
	switch v := smallVocab(g.Vocab); g.Recipe {
	case "mlm":
		f = records.Masked
		b, err = NewMLMBuilder(g.Options, v, Scratch{})
	case "tokens":
		f = records.Tokens
		b, err = NewSplitter(g.Options, v)
	case "packed":
		f = records.Packed
		b, err = NewPacker(g.Options, v)
	case "pieces":
		f = records.Pieces
		b, err = newSlicer(g.Options, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}
