package wikitext

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// An invocation is a use of a template of a Wikipedia and what pages of that wiki show for
// it, by the documentation of its template.
type invocation struct{ Lang, Wikitext, Shows string }

// minRight is the fraction of the known invocations that must be right. Those that are not
// must be counted as unconfirmed or as a hole, so that users can find them.
const minRight = 0.95

func TestKnownInvocationsShowWhatTheirWikisShow(t *testing.T) {
	file, err := os.Open("testdata/invocations.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	right, total, langs := 0, 0, map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); total++ {
		var c invocation
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		langs[c.Lang] = true
		s := NewScanner(DefaultOptions())
		text := string(s.AppendText(nil, []byte("Aa "+c.Wikitext+" bb."), Page{Lang: c.Lang, Wiki: c.Lang + "wiki", Title: "X"}))
		got := strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "Aa"), "bb.")), " ")
		if got == c.Shows {
			right++
			continue
		}
		t.Logf("%s: %s shows %q, want %q", c.Lang, c.Wikitext, got, c.Shows)
		if s.PageUses(fromUnconfirmed)+s.PageUses(asHole) != 1 {
			t.Errorf("%s: %s is wrong, and counted neither as unconfirmed nor as a hole", c.Lang, c.Wikitext)
		}
	}
	t.Logf("%d of %d in %d languages are right", right, total, len(langs))
	if total < 200 || len(langs) < 40 {
		t.Errorf("%d invocations in %d languages, want 200 in 40", total, len(langs))
	}
	if float64(right) < minRight*float64(total) {
		t.Errorf("%d of %d are right, want %g", right, total, minRight)
	}
}
