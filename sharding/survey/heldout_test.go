package survey_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/survey"
)

// similarBooks writes 60 books. The last 30 are the first 30 with one word in so many
// altered as their number says, so that they share all, some or none of their runs.
func similarBooks(t *testing.T, dir string) (texts map[string][]string) {
	r := rand.New(rand.NewPCG(1, 2))
	texts = map[string][]string{}
	var all [][]string
	for i := range 60 {
		var words []string
		if i < 30 {
			for range 300 {
				words = append(words, fmt.Sprintf("w%d", r.IntN(5000)))
			}
		} else {
			for j, w := range all[i-30] {
				if j%(i-25) == 0 {
					w = "other" + w
				}
				words = append(words, w)
			}
		}
		all = append(all, words)
		name := fmt.Sprintf("book%02d.txt", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(words, " ")+".\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		texts[name] = words
	}
	return texts
}

// The count of similar held-out documents is that of a plain comparison of all runs of
// words, for any number of workers.
func TestHeldOutDocumentsAreComparedWithTrainingDocuments(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	texts := similarBooks(t, dir)
	c := pipeline.DemoConfig(out)
	c.Sources = []pipeline.Source{{Kind: pipeline.KindBooks, Path: dir}}
	c.Examples.Fraction, c.Examples.Shards, c.VocabSize = 0.3, 2, 300
	if _, err := pipeline.Run(context.Background(), stage.Runner{Name: "direct", Workers: 2}, c); err != nil {
		t.Fatal(err)
	}
	runs := func(words []string) (list []string) {
		for i := 0; i+8 <= len(words); i++ {
			list = append(list, strings.Join(words[i:i+8], " "))
		}
		return list
	}
	trained, want := map[string]bool{}, survey.HeldOut{Folder: sharding.DocumentsFolder, Sample: 1}
	heldOut := map[string][]string{}
	for name, words := range texts {
		if c.Examples.Split.HeldOut("books:" + name) {
			heldOut[name] = words
			continue
		}
		for _, run := range runs(words) {
			trained[run] = true
		}
	}
	for _, words := range heldOut {
		common := 0
		for _, run := range runs(words) {
			if trained[run] {
				common++
			}
		}
		want.Documents++
		if common*10 > 6*len(runs(words)) {
			want.Similar++
		}
	}
	if want.Similar == 0 || want.Similar == want.Documents {
		t.Fatalf("the test has %+v", want)
	}
	for _, workers := range []int{1, 3} {
		s, err := survey.Collect(t.Context(), out, survey.Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, s.HeldOut); diff != "" {
			t.Errorf("%d workers (-want +got):\n%s", workers, diff)
		}
	}
}
