package counts_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pretext/counts"
)

type reason string

var (
	pages   = counts.Declare("pages", counts.About{Label: "pages read", In: counts.Summary})
	lines   = counts.Declare("lines", counts.About{In: counts.Stats, Sparse: true})
	rejects = counts.DeclareFamily[reason]("reject", counts.About{})
)

func Example() {
	c := counts.Counts{}
	pages.Add(c, 3)
	lines.Add(c, 0) // stays out
	rejects.AddAll(c, map[reason]int64{"short": 2, "empty": 1})
	text, err := json.Marshal(c)
	fmt.Println(string(text), err)

	var read counts.Counts
	fmt.Println(json.Unmarshal(text, &read), pages.Of(read), lines.Of(read))
	for why, n := range rejects.Members(read) {
		fmt.Println(why, n)
	}
	// Output:
	// {"pages":3,"reject.empty":1,"reject.short":2} <nil>
	// <nil> 3 0
	// empty 1
	// short 2
}

func TestAStageShowsWhatItsDeclarationsName(t *testing.T) {
	counts.Stage("shown", []counts.Count{lines, pages, rejects.Count})
	c := counts.Counts{pages.Key: 3, lines.Key: 5, rejects.Member("pages"): 7}
	shown := ""
	for k, n := range counts.Shown("shown", counts.Summary|counts.Stats, c) {
		shown += fmt.Sprint(k.Name(), " ", n, "; ")
	}
	if want := "lines 5; pages read 3; "; shown != want {
		t.Errorf("got %q, want %q", shown, want)
	}
	if !rejects.Has(rejects.Member("pages")) || rejects.Has(pages.Key) || pages.Has(rejects.Member("pages")) {
		t.Error("a family has its members and nothing else")
	}
}

func TestTwoCountsOfAStageHaveTwoNames(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a stage with two counts of one name is accepted")
		}
	}()
	counts.Stage("equal", []counts.Count{pages, counts.Declare("pages", counts.About{})})
}
