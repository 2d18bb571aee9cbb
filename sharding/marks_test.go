package sharding

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pretext/tokenize"
)

// lostOf measures a text.
func lostOf(t *testing.T, text string) LostMarks {
	t.Helper()
	c, err := newMarkCounter()
	if err != nil {
		t.Fatal(err)
	}
	c.words.Add(text)
	return c.lost()
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

// slowLost counts word by word: every word without its marks is put into a map.
func slowLost(t *testing.T, texts []string) (lost LostMarks) {
	t.Helper()
	c, err := newMarkCounter()
	if err != nil {
		t.Fatal(err)
	}
	keep := false
	splitter, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: true, StripAccents: &keep})
	if err != nil {
		t.Fatal(err)
	}
	types, stripped := map[string]bool{}, map[string]bool{}
	for _, word := range splitter.AppendWords(nil, strings.Join(texts, "\n")) {
		if !strings.ContainsFunc(word, unicode.IsLetter) {
			continue
		}
		lost.Words++
		if word == "the" {
			lost.The++
		}
		types[word] = true
		if c.strip([]byte(word)) {
			lost.Losing++
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }) {
				lost.Other++
			}
		}
		stripped[string(c.decomposed)] = true
	}
	lost.Types = int64(len(types))
	lost.Merged = lost.Types - int64(len(stripped))
	return lost
}

// languageTexts have words that are equal without their marks, in a text or in two.
var languageTexts = []string{
	"The resume of the captain: a résumé of 12 pages, a café, the cafe of the 2nd harbour, naive or naïve, THE end.",
	"Die Bäume blühen, die Baume nicht; schon ist es schön, und die Vögel fliegen über das Dorf. Fußball 1. FC.",
	"Hôm nay trời rất đẹp và chúng tôi đi chợ mua cá, hom nay troi, ca ca cà cả.",
	"मैं आज घर जा रहा हूँ और वहाँ अपनी बहन से मिलूँगा। मं म मा",
	"学校で本を読みます。友だちがきます。ゴコ カガ かが か゛",
	"오늘은 날씨가 좋아서 공원에 갑니다. 가 각 간 가",
	"Ελλάδα ΕΛΛΑΔΑ ελλαδα ΟΔΟΣ οδός, Ёлка елка всё все, й и.",
	"é é e ㎏ ½a ͅa ͺ5 ́ 5́ a5́ ª º ﬁn fin ǆ İi i̇ ⱼ",
	"كِتَاب كتاب שָׁלוֹם שלום ภาษาไทย ก็ ก",
}

func TestMarksAreThoseCountedWordByWord(t *testing.T) {
	check := func(texts []string) {
		t.Helper()
		c, err := newMarkCounter()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			c.words.Add(text)
		}
		if got, want := c.lost(), slowLost(t, texts); got != want {
			t.Errorf("%q: got %+v, want %+v", texts, got, want)
		}
	}
	for i, text := range languageTexts {
		check([]string{text})
		check(append(slices.Repeat(languageTexts[:i], 3), text))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "á", "a\u0301", "A", "ά", "α", "か", "が", "\u3099", "h", "the ", " ", " 5", "각", "Ї", "\u0301", "-"}
	for range 100 {
		var texts []string
		for range 1 + rng.IntN(3) {
			var b strings.Builder
			for range rng.IntN(400) {
				b.WriteString(letters[rng.IntN(len(letters))])
			}
			texts = append(texts, b.String())
		}
		check(texts)
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
