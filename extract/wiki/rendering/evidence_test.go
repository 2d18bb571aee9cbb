package rendering

import (
	"fmt"
	"strings"
	"testing"
)

// A rule is confirmed or removed by the uses that show what it gives; a few uses are no
// evidence, and a user's rule is not judged.
func TestEvidenceDecidesAboutRules(t *testing.T) {
	text := "[xx]\n"
	for _, e := range []string{"circa | 19 of 20", "abbr | 18 of 20", "nihongo | 2 of 2", "frac | 0 of 2", "lang-de | 3 of 3", "mine | 0 of 9", "none | 9 of 9"} {
		text += "evidence " + e + "\n"
	}
	f, err := Parse("evidence.txt", []byte(text+"template mine | arg 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	table := NewSet(f).Table("xx", "xxwiki")
	got := ""
	for _, name := range []string{"circa", "abbr", "nihongo", "frac", "lang-de", "lang-fr", "mine", "none"} {
		rule, ok := table.Template([]byte(name))
		got += fmt.Sprintln(name, ok, rule.Confirmed)
	}
	want := "circa true true\nabbr false false\nnihongo true false\nfrac true false\nlang-de true true\nlang-fr true false\nmine true false\nnone false false\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestInvalidEvidenceIsRefused(t *testing.T) {
	for _, value := range []string{"", "3", "4 of 3", "-1 of 3", "3 of 3 x", "3 of", "03 of 3"} {
		if _, err := Parse("x", []byte("[xx]\nevidence circa | "+value)); err == nil || !strings.Contains(err.Error(), "EQUAL of USES") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// Rules of the Greek Wikivoyage are confirmed by the definitions in its dump.
func TestCompiledInEvidenceConfirmsRules(t *testing.T) {
	for wiki, want := range map[string]bool{"elwikivoyage": true, "elwiki": false} {
		if rule, ok := NewSet().Table("el", wiki).Template([]byte("marker")); !ok || rule.Confirmed != want {
			t.Errorf("marker in %s: %+v, want confirmed: %v", wiki, rule, want)
		}
	}
}
