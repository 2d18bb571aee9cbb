package wikitext

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// An invocation is a use of a template of a wiki and what its pages show for it, by the
// documentation of the template, text of rendered pages or general knowledge of the wiki;
// few were compared with pages. Uses that rules already showed as expected are among them, so the test notices what
// gets worse, and the fraction is not that of all uses. No rule was changed after those that
// are kept aside had been tried.
type invocation struct {
	Lang, Wikitext, Shows string
	Wiki                  string // by default the Wikipedia in the language
	Aside                 bool
}

// minRight is the fraction of the known invocations that must be right. Those that are not
// must be counted as unconfirmed or as a hole, so that users can find them.
const minRight = 0.95

func TestKnownInvocationsShowWhatTheirWikisShow(t *testing.T) {
	file, err := os.Open("testdata/invocations.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	right, total, langs := map[bool]int{}, map[bool]int{}, map[string]bool{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c invocation
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		langs[c.Lang] = true
		total[c.Aside]++
		s := NewScanner(DefaultOptions())
		text := string(s.AppendText(nil, []byte("Aa "+c.Wikitext+" bb."), Page{Lang: c.Lang, Wiki: cmp.Or(c.Wiki, c.Lang+"wiki"), Title: "X"}))
		got := strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "Aa"), "bb.")), " ")
		if got == c.Shows {
			right[c.Aside]++
			continue
		}
		t.Logf("%s: %s shows %q, want %q", c.Lang, c.Wikitext, got, c.Shows)
		if s.PageUses(fromUnconfirmed)+s.PageUses(asHole) != 1 {
			t.Errorf("%s: %s is wrong, and counted neither as unconfirmed nor as a hole", c.Lang, c.Wikitext)
		}
	}
	if len(langs) < 40 {
		t.Errorf("invocations in %d languages, want 40", len(langs))
	}
	for aside, least := range map[bool]int{false: 200, true: 100} {
		t.Logf("kept aside: %v: %d of %d are right", aside, right[aside], total[aside])
		if float64(right[aside]) < minRight*float64(total[aside]) || total[aside] < least {
			t.Errorf("kept aside: %v: %d of %d are right, want %g of %d", aside, right[aside], total[aside], minRight, least)
		}
	}
}
