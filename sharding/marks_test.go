package sharding

import (
	"strings"
	"testing"

	"pretext/tokenize"
)

// lostOf measures a text.
func lostOf(t *testing.T, text string) LostMarks {
	t.Helper()
	c, err := newMarkCounter()
	if err != nil {
		t.Fatal(err)
	}
	c.add(text)
	c.lost.Types = int64(len(c.types))
	c.lost.Merged = c.lost.Types - int64(len(c.stripped))
	return c.lost
}

func TestMarksAreCountedByWord(t *testing.T) {
	for text, want := range map[string]LostMarks{
		"Été, ete! 12 ÉTÉ":         {Words: 3, Losing: 2, Types: 2, Merged: 1},
		"the café of the harbour":  {Words: 5, Losing: 1, Types: 4, The: 2},
		"जैसा Kaffee":              {Words: 2, Losing: 1, Other: 1, Types: 2},
		"한국 韓國 ͵ ❤️":               {Words: 3, Types: 3}, // Hangul is decomposed; an emoji has no letter
		"a\u0301 á":                {Words: 2, Losing: 2, Types: 2, Merged: 1},
		"ゴ コ":                      {Words: 2, Losing: 1, Other: 1, Types: 2, Merged: 1},
		"":                         {},
		"Đại Việt: đường":          {Words: 3, Losing: 3, Types: 3},
		"strong words, no accents": {Words: 4, Types: 4},
	} {
		if got := lostOf(t, text); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

// What is counted as lost is what the tokenizer drops.
func TestMarksAreThoseThatTheTokenizerDrops(t *testing.T) {
	yes, no := true, false
	drops, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: true, StripAccents: &yes})
	if err != nil {
		t.Fatal(err)
	}
	keeps, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: true, StripAccents: &no})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newMarkCounter()
	if err != nil {
		t.Fatal(err)
	}
	for r := rune(0xc0); r < 0x3100; r++ {
		text := "a" + string(r) + "b"
		words := keeps.AppendWords(nil, text)
		if len(words) != 1 {
			continue // white space or punctuation
		}
		c.strip([]byte(words[0]))
		if want := strings.Join(drops.AppendWords(nil, text), ""); string(c.decomposed) != want {
			t.Errorf("%U: got %+q, the tokenizer makes %+q of it", r, c.decomposed, want)
		}
	}
}

func TestEnglishTextMayHaveSomeMarks(t *testing.T) {
	english := "the ferry leaves the harbour in the morning and the captain drinks coffee on the quay "
	for _, test := range []struct {
		name, text string
		tooMany    bool
		usual      bool
	}{
		{"English", strings.Repeat(english, 100), false, true},
		{"with names", strings.Repeat(english, 100) + strings.Repeat("Müller ", 20), false, false},
		{"with many names", strings.Repeat(english, 100) + strings.Repeat("Müller ", 40), true, false},
		{"with a little Hindi", strings.Repeat(english, 100) + strings.Repeat("जैसा ", 20), true, false},
		{"not English", strings.Repeat("een paar woorden van een taal ", 100) + strings.Repeat("één ", 4), true, false},
	} {
		m := lostOf(t, test.text)
		if m.TooMany() != test.tooMany || m.Usual() != test.usual {
			t.Errorf("%s: too many: %t, usual: %t: %+v", test.name, m.TooMany(), m.Usual(), m)
		}
	}
}
