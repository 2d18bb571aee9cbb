package wikitext

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestInvocationsOfDictionaries compares what templates of Wiktionaries show with what their
// documentation, modules and pages say. Nobody compared all of it with rendered pages, so each
// counts as unconfirmed.
func TestInvocationsOfDictionaries(t *testing.T) {
	file, err := os.Open("testdata/dictionaries.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	total := map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c struct{ Wiki, Title, Wikitext, Shows string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		total[c.Wiki]++
		s := NewScanner(DefaultOptions())
		text := string(s.AppendText(nil, []byte("Aa "+c.Wikitext+" bb."), Page{Lang: c.Wiki[:2], Wiki: c.Wiki, Title: c.Title}))
		if got := strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "Aa"), "bb.")), " "); got != c.Shows {
			t.Errorf("%s: %s shows %q, want %q", c.Wiki, c.Wikitext, got, c.Shows)
		}
		if s.PageUses(fromUnconfirmed) == 0 || s.PageHoles() != 0 {
			t.Errorf("%s: %s: %d uses are unconfirmed, %d holes", c.Wiki, c.Wikitext, s.PageUses(fromUnconfirmed), s.PageHoles())
		}
	}
	for _, wiki := range []string{"eswiktionary", "frwiktionary", "itwiktionary", "nlwiktionary", "plwiktionary", "ptwiktionary", "ruwiktionary"} {
		if total[wiki] < 7 {
			t.Errorf("invocations: %v, want 7 of %s", total, wiki)
		}
	}
	if total["enwiktionary"] < 150 || total["dewiktionary"] < 50 {
		t.Errorf("invocations: %v, want 150 of enwiktionary and 50 of dewiktionary", total)
	}
}

// What is not known is a hole and never a guess, and odd arguments do no harm.
func TestOddInvocationsOfDictionaries(t *testing.T) {
	for _, c := range []struct {
		wiki, source, want string
		holes              int
	}{
		{"enwiktionary", "From {{der|en|qqz|mot}}.", "From mot.", 1},
		{"enwiktionary", "From {{der|en|qqz-pro|*mot}}.", "From *mot.", 1},
		{"enwiktionary", "* {{desc|qqz|mot}}", "mot", 1},
		{"enwiktionary", "From {{af|en|mot|-al|lang1=qqz}}.", "From mot + -al.", 1},
		{"enwiktionary", "A {{nobody knows|this}} b.", "A b.", 1},
		{"zhwiktionary", "A {{lb|en|aviation}} b {{mk|ko|c}} d.", "A b d.", 2}, // not words in Luxembourgish and Macedonian
		{"svwiktionary", "A {{lb|sv|jord}} b.", "A b.", 1},
		{"svwiki", "A {{lb|Wuert}} b.", "A Wuert b.", 0},
		{"kowiktionary", "A {{quote|en|All is well.|x}} b.", "A b.", 1}, // not a quotation of "en"
		{"svwiki", "A {{FRA|#}} b.", "A Frankrike b.", 0},               // a flag without a name only in German
		{"enwiktionary", "A {{m|en}} b.", "A b.", 1},
		{"enwiktionary", "A {{m|en|}} b {{suffix|en}} c.", "A b c.", 2},
		{"enwiktionary", "A {{inh|en|enm|}} b.", "A Middle English b.", 0},
		{"enwiktionary", "A {{suffix|en||ing}} b.", "A + -ing b.", 0},
		{"enwiktionary", "A {{m|la|[[verbum]]|'''verb'''um||t=}} b.", "A verbum b.", 0},
		{"enwiktionary", "A {{m|en|a<sup>2</sup>}} b.", "A a2 b.", 0},
		{"enwiktionary", "A {{m|en|a<!-- <t:no> -->}} b.", "A a b.", 0},
		{"enwiktionary", "A {{l|en|x<t:a<b>c<q:d>}} b.", "A x (“ac<q:d>”) b.", 0},
		{"enwiktionary", "A {{m|he|מילה|tr=milá|t={{l|en|word}}}} b.", "A מילה (milá, “word”) b.", 0},
		{"enwiktionary", "A {{m|en|&lt;t:x&gt;}} b.", "A <t:x> b.", 0},
		{"enwiktionary", "A {{IPA|en}} b.", "A b.", 1},
		{"enwiktionary", "A {{lb|en}} b.", "A b.", 1},
		{"enwiktionary", "A {{syn|en}} b.", "A b.", 1},
		{"enwiktionary", "A {{a|UK}} b.", "A (UK) b.", 0},
		{"enwiktionary", "A {{der|en|la|verbum||t=<u>word</u>}} b.", "A Latin verbum (“word”) b.", 0},
		{"enwiktionary", "{{col3|en|a|b<t:c>|title=Words}}", "Words\na\nb (“c”)", 0},
		{"enwiktionary", "{{en-verb|<>}}", "test", 0},
		{"enwiktionary", "{{en-noun|a|b|c|d|e|f|g|h|i|j|k}}", "test (plural a or b or c or d or e or f or g or h)", 0},
		{"dewiktionary", "*{{qqz}}: {{Ü|qqz|mot}}", "mot", 1},
		{"dewiktionary", ":[1] {{K}} Wort", "[1] Wort", 0},
		{"dewiktionary", ":[1] {{Ü|en|}} Wort", "[1] Wort", 1},
	} {
		s := NewScanner(DefaultOptions())
		got := string(s.AppendText(nil, []byte(c.source), Page{Lang: c.wiki[:2], Wiki: c.wiki, Title: "test"}))
		if got != c.want || s.PageHoles() != c.holes {
			t.Errorf("%s: got %q with %d holes, want %q with %d", c.source, got, s.PageHoles(), c.want, c.holes)
		}
	}
}

// A doubled letter is one of a to z: a byte of another letter would be a wrong character.
func TestDoubledLettersOfVerbs(t *testing.T) {
	if got := englishVerb("café", []string{"++"}); got != "" {
		t.Errorf("café: %q", got)
	}
}
