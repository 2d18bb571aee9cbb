package locale

import "testing"

// The form of numbers depends on the language and on the wiki; MediaWiki itself is asked in
// TestMediaWikiRendersTheSame of package wiki.
func TestNumbersHaveTheFormOfTheWiki(t *testing.T) {
	for _, c := range []struct{ lang, wiki, text, want string }{
		{"en", "", "-1234567.50", "−1,234,567.50"},
		{"de", "dewiki", "1234", "1.234"},
		{"es", "", "1234.5", "1234,5"},
		{"es", "", "12345", "12 345"},
		{"hi", "hiwiki", "1234567", "12,34,567"},
		{"hi", "hiwiktionary", "1234567", "१२,३४,५६७"},
		{"fa", "", "1234.5", "۱٬۲۳۴٫۵"},
		{"en", "", "1e10", "10,000,000,000"},
		{"en", "", "a 1234 km", "a 1,234 km"},
		{"en", "", "", ""},
	} {
		if got := string(NumbersOf(c.lang, c.wiki).AppendFormatted(nil, c.text)); got != c.want {
			t.Errorf("%s %s %q: got %q, want %q", c.lang, c.wiki, c.text, got, c.want)
		}
	}
	if got := NumbersOf("fa", "").Parse("−۱٬۲۳۴٫۵"); got != "-1234.5" {
		t.Errorf("got %q", got)
	}
}

func TestPluralFormsAreThoseOfTheLanguage(t *testing.T) {
	forms := []string{"one", "few", "many", "12=dozen"}
	for number, want := range map[string]int{"1": 0, "2": 1, "5": 2, "21": 0, "11": 2, "12": 3, "1.5": 2} {
		if got := Plural("ru", number, forms); got != want {
			t.Errorf("%s: form %d, want %d", number, got, want)
		}
	}
	if got := Plural("en", "7", []string{"1=a"}); got != -1 {
		t.Errorf("form %d of none", got)
	}
}

// Kazakh is written in Cyrillic unless a reader chooses otherwise: MediaWiki changes the case
// of its letters as usual.
func TestLanguagesWithADottedI(t *testing.T) {
	for lang, want := range map[string]bool{"tr": true, "az": true, "kaa": true, "kk": false, "en": false, "": false} {
		if got := Dotted(lang); got != want {
			t.Errorf("%q: %v", lang, got)
		}
	}
}

func TestWordsOfLists(t *testing.T) {
	for code, want := range map[string]ListWords{
		"en": {" and ", ", ", "..."}, "simple": {" and ", ", ", "..."}, "de": {" und ", ", ", "…"}, "no": {" og ", ", ", "…"}, "zh-yue": {" 同埋", "、", "..."},
	} {
		if got, ok := ListWordsOf(code); !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", code, got, ok, want)
		}
	}
	for _, code := range []string{"", "xx", "e", "n"} {
		if got, ok := ListWordsOf(code); ok {
			t.Errorf("%q: %q", code, got)
		}
	}
}
