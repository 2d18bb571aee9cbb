package sentence

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
)

func Example() {
	splitter, err := New("auto", "en")
	if err != nil {
		panic(err)
	}
	splitter = ByLine(splitter)
	text := "Early life\nDr. Ada M. Byron was born in St. Ives. (Her father\r\nwas a miller.) She read \"everything!\""
	var spans []Span
	var line []byte
	spans = splitter.AppendSpans(spans[:0], text)
	for _, span := range spans {
		line = AppendClean(line[:0], text[span.Start:span.End])
		if len(line) > 0 {
			fmt.Printf("%s\n", line)
		}
	}
	// Output:
	// Early life
	// Dr. Ada M. Byron was born in St. Ives.
	// (Her father
	// was a miller.)
	// She read "everything!"
}

func TestSplittersFindTheirSentences(t *testing.T) {
	tests := []struct {
		name, lang string
		byLine     bool
		text       string
		want       []string
	}{
		{"punkt", "en", false, "", nil},
		{"punkt", "en", false, " \n\t ", nil},
		{"punkt", "en", false, "No end", []string{"No end"}},
		{"punkt", "en", false, "  Led by blanks. Here.  ", []string{"  Led by blanks.", "Here."}},
		{"punkt", "en", false, "Mr. Fox met Prof. Owl at 3 p.m. on Monday. They spoke.", []string{"Mr. Fox met Prof. Owl at 3 p.m. on Monday.", "They spoke."}},
		{"punkt", "en", false, "A heading\n\nIts paragraph ends. Next", []string{"A heading\n\nIts paragraph ends.", "Next"}},
		{"punkt", "en", true, "A heading\n\nIts paragraph ends. Next", []string{"A heading", "Its paragraph ends.", "Next"}},
		{"punkt", "en", true, "\n\n\n", nil},
		{"punkt", "en", false, "(He left.) \"Why?\" 'Go!' -- So it was.", []string{"(He left.)", "\"Why?\"", "'Go!'", "-- So it was."}},
		{"punkt", "de", false, "Am 3. März kam Dr. Wolf. Er blieb z.B. eine Woche.", []string{"Am 3. März kam Dr. Wolf.", "Er blieb z.B. eine Woche."}},
		{"auto", "xx", false, "Mr. Fox left. He ran.", []string{"Mr. Fox left.", "He ran."}},
		{"auto", "", false, "Mr. Fox left. He ran.", []string{"Mr. Fox left.", "He ran."}},
		{"newline", "en", false, "One. Two.\n\n \u2003\n  three \r\nfour", []string{"One. Two.", "  three \r", "four"}},
		{"newline", "en", true, "One.\nTwo", []string{"One.", "Two"}},
		{"auto", "ja", false, "「本当？！」と聞いた。そうだ｡ 終わり\n次の行", []string{"「本当？！」", "と聞いた。", "そうだ｡", "終わり", "次の行"}},
		{"auto", "zh-yue", false, "佢話：「好。」跟住走咗！！（真係？）", []string{"佢話：「好。」", "跟住走咗！！", "（真係？）"}},
		{"auto", "ZH_classical", false, "學而時習之。　不亦說乎？", []string{"學而時習之。", "不亦說乎？"}},
		{"auto", "ja", false, "値は３．５である．次へ．１．序論", []string{"値は３．５である．", "次へ．", "１．序論"}},
		{"auto", "ja", false, "0．5、9．1、０．5、９．5と:．続く", []string{"0．5、9．1、０．5、９．5と:．", "続く"}},
		{"auto", "th", false, "แมวนอน Mr. Fox ไป\nสุนัข？ดี", []string{"แมวนอน Mr. Fox ไป", "สุนัข？", "ดี"}},
		{"auto", "ja", false, "。。。", []string{"。。。"}},
		{"punkt", "ja", false, "Mr. Fox。 He ran. So.", []string{"Mr. Fox。 He ran.", "So."}},
		{"auto", "zh-min-nan", false, "Chit jī-kù. Koh chi̍t kù.", []string{"Chit jī-kù.", "Koh chi̍t kù."}},
	}
	for _, tt := range tests {
		s := mustNew(t, tt.name, tt.lang)
		if tt.byLine {
			s = ByLine(s)
		}
		if diff := cmp.Diff(tt.want, sentencesOf(s, tt.text)); diff != "" {
			t.Errorf("%s %s, by line %v, %q: sentences differ (-want +got):\n%s", tt.name, tt.lang, tt.byLine, tt.text, diff)
		}
	}
}

func TestNewRefusesAnUnknownName(t *testing.T) {
	if _, err := New("nltk", "en"); err == nil || !strings.Contains(err.Error(), `"nltk"`) {
		t.Errorf("got error %v, want one that names the splitter", err)
	}
}

func TestALanguageFindsItsParameters(t *testing.T) {
	tests := map[string]string{
		"en": "en", "simple": "en", "": "en", "sco": "en", "ja": "en", "EN-gb": "en", "zh-min-nan": "en", "be-tarask": "en",
		"de": "de", "de-AT": "de", "pt_BR": "pt", "nb": "no", "nn": "no", "no": "no", "sl": "sl", "el": "el", "czech": "en",
	}
	for lang, want := range tests {
		if got := punktLanguage(lang); got != want {
			t.Errorf("%q: got parameters of %q, want %q", lang, got, want)
		}
	}
	if got := len(Languages()); got != 17 {
		t.Errorf("got %d languages, want 17", got)
	}
}

func TestAppendCleanLeavesWhatPythonWould(t *testing.T) {
	tests := []struct{ sentence, want string }{
		{"", ""},
		{"plain one.", "plain one."},
		{"  two \t", "two"},
		{"a\nb\r\nc\n\n\r\rd", "a b c d"},
		{"\n a\n", "a"},
		{"a \n b", "a   b"},
		{"\u00a0\u2003\u3000\x1c\x1f\x85x", "\x85x"}, // a lone byte 0x85 is no U+0085
		{"\u0085\u1680\u2028\u2029\u202f\u205f\v\f", ""},
		{"\u200b\ufeff\u180e", "\u200b\ufeff\u180e"}, // not white space to Python 3
		{"a\u2028b\x1cc", "a\u2028b\x1cc"},
		{"\xff \xe3\x80", "\xff \xe3\x80"},
	}
	for _, tt := range tests {
		got := string(AppendClean([]byte("<"), tt.sentence))
		if got != "<"+tt.want {
			t.Errorf("%q: got %q, want %q", tt.sentence, got, "<"+tt.want)
		}
	}
}

func TestCleaningTwiceIsCleaningOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once := AppendClean(nil, textGenerator().Draw(t, "sentence"))
		if twice := AppendClean(nil, string(once)); string(twice) != string(once) {
			t.Fatalf("got %q after %q", twice, once)
		}
		if strings.ContainsAny(string(once), "\r\n") || Strip(string(once)) != string(once) {
			t.Fatalf("not clean: %q", once)
		}
	})
}

// textGenerator draws texts of what splitters have rules for.
func textGenerator() *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{
		".", ".", "?", "!", "...", ". . .", ",", "-", "--", "\"", "'", ")", "(", "[", "]", " ", " ", " ", "\n", "\r\n", "\t",
		"\u00a0", "\u3000", "\u2028", "\x1c", "\xff", "\xe3\x80", "Mr", "etc", "U.S", "e.g", "A.", "b.", "12.", "3", "The", "the", "She", "she",
		"ΟΔΟΣ", "Σ", "’", "İ", "Ⅷ", "٣", "。", "！", "．", "」", "日本", "é", "x",
	})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "pieces"), "") })
}

// checkSpans reports the first promise of AppendSpans that spans break.
func checkSpans(text string, spans []Span) error {
	at, valid := 0, utf8.ValidString(text)
	for _, s := range append(spans, Span{len(text), len(text)}) {
		switch {
		case s.Start < at || s.End < s.Start || s.Start == s.End && s.Start < len(text):
			return fmt.Errorf("span %v out of order or empty", s)
		case Strip(text[at:s.Start]) != "":
			return fmt.Errorf("no span covers %q", text[at:s.Start])
		case valid && s.End < len(text) && !utf8.RuneStart(text[s.End]):
			return fmt.Errorf("span %v ends inside a character", s)
		}
		at = s.End
	}
	return nil
}

func allSplitters(tb testing.TB) map[string]Splitter {
	all := map[string]Splitter{
		"newline":   mustNew(tb, Newline, ""),
		"fullwidth": mustNew(tb, Auto, "ja"),
		"en":        mustNew(tb, Punkt, "en"),
		"el":        mustNew(tb, Punkt, "el"),
	}
	all["en by line"] = ByLine(mustNew(tb, Punkt, "en"))
	return all
}

func TestSpansAreSortedAndCoverAllButWhiteSpace(t *testing.T) {
	all := allSplitters(t)
	rapid.Check(t, func(t *rapid.T) {
		text := textGenerator().Draw(t, "text")
		for name, s := range all {
			if err := checkSpans(text, s.AppendSpans(nil, text)); err != nil {
				t.Fatalf("%s: %q: %v", name, text, err)
			}
		}
	})
}

func TestALineEndsEverySentenceByLine(t *testing.T) {
	s := ByLine(mustNew(t, Punkt, "en"))
	rapid.Check(t, func(t *rapid.T) {
		text := textGenerator().Draw(t, "text")
		var want []string
		for line := range strings.Lines(text) {
			want = append(want, sentencesOf(s, line)...)
		}
		got := sentencesOf(s, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: differs from its lines split alone (-want +got):\n%s", text, diff)
		}
		if strings.Contains(strings.Join(got, ""), "\n") {
			t.Fatalf("%q: a sentence holds a line end", text)
		}
	})
}

// A quarter of a megabyte of each: what takes more than linear time does not
// come back.
func TestHostileTextsAreSplitInLinearTime(t *testing.T) {
	const size = 1 << 18
	all := allSplitters(t)
	for _, unit := range []string{
		"x", ".", ". ", ".. ", "?", "!\n", "\"", ".\"", ")", ".)", "-", "a-", ",", ",-", "a.)", "a. ", "a.\n", "word\n", "Mr. ", "'.",
		"\u00a0", ".\u00a0", "Σ", "Σ’", "a.\u00a0b", "。", "」", "日", "1.", "A.\u2028", "\xff", " ", "\r", "\x1c.",
	} {
		text := "Begin. X" + strings.Repeat(unit, size/len(unit)) + " end. A"
		for name, s := range all {
			if err := checkSpans(text, s.AppendSpans(nil, text)); err != nil {
				t.Errorf("%s: %q repeated: %v", name, unit, err)
			}
		}
	}
}

func TestSplittersDoNotAllocate(t *testing.T) {
	text := strings.Repeat("Mr. Fox met Dr. Owl in No. 7 Elm St. on 3 May. \"Why?\" he said... ΟΔΟΣ. Ärger ist gut.\nA. B. C. ran。", 20)
	for name, s := range allSplitters(t) {
		spans := s.AppendSpans(nil, text)
		if n := testing.AllocsPerRun(20, func() { spans = s.AppendSpans(spans[:0], text) }); n != 0 {
			t.Errorf("%s: got %v allocations a text, want 0", name, n)
		}
	}
}

func TestTablesAreThoseOfTheirUnicodeVersion(t *testing.T) {
	if unicode.Version != unicodeVersion {
		realdata.Missing(t, fmt.Sprintf("tables are of Unicode %s, the toolchain is of %s", unicodeVersion, unicode.Version))
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got, want := lower(r), unicode.ToLower(r); got != want {
			t.Fatalf("%U: got lower case %U, want %U", r, got, want)
		}
		c := class(r)
		if got, want := c&classUpper != 0, unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r); got != want {
			t.Fatalf("%U: got upper %v, want %v", r, got, want)
		}
		if got, want := c&classLower != 0, unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r); got != want {
			t.Fatalf("%U: got lower %v, want %v", r, got, want)
		}
		if got, want := c&classDigit != 0, unicode.Is(unicode.Nd, r); got != want {
			t.Fatalf("%U: got digit %v, want %v", r, got, want)
		}
		if got, want := c&classLetter != 0, r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.No); got != want {
			t.Fatalf("%U: got letter %v, want %v", r, got, want)
		}
	}
}
