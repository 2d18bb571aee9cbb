package wikitext

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pretext/extract/wiki/rendering"
	"pretext/internal/realdata"
)

// englishWords matches what English templates write: names of months, units and
// countries, labels, and names of languages before a colon.
func englishWords() *regexp.Regexp {
	var words []string
	for e := range rendering.NewSet().Entries() {
		if e.Scope != "en" {
			continue
		}
		quoted := regexp.QuoteMeta(strings.TrimSpace(strings.TrimPrefix(e.Value, "{0}")))
		switch e.Kind {
		case rendering.Country:
			words = append(words, `\b`+quoted+`\b`)
		case rendering.Language:
			words = append(words, `\b`+quoted+`:`)
		case rendering.UnitName:
			words = append(words, `\d[ -]`+quoted+`\b`)
		}
	}
	for _, month := range monthNames[1:] {
		words = append(words, `\b`+month+`\b`)
	}
	words = append(words, `\b[Aa]s of\b`, `\b[Ss]ince\b`, `\bc\. \d`, `romanized:`, `\blit\.`, `simplified`, `traditional`, `\bsq (mi|ft|in|yd)\b`, `\bcu (mi|ft|in|yd)\b`,
		`\bmph\b`, `\bacres?\b`, `\bO\.S\.`, `-class\b`, `\bBCE?\b`, `\bAD\b`, `\b(thousand|million|billion|trillion|lakh|crore)\b`, `\bborn\b`, `\bdied\b`, `\bfl\. `, `\br\. \d`, `\d to \d`, `\bYes\b`, `\bNo\b`)
	return regexp.MustCompile(strings.Join(words, "|"))
}

// ownNames are the English words that a language has too: names of countries and
// months in CLDR.
func ownNames(lang string) map[string]bool {
	own := map[string]bool{}
	table := rendering.NewSet().Table(lang, "")
	for e := range rendering.NewSet().Entries() {
		if e.Scope == "en" && e.Kind == rendering.Country {
			own[table.CountryName([]byte(e.Name))] = true
		}
	}
	for k := range 12 {
		own[table.Text(rendering.Month, fmt.Sprintf("%02d", k+1))] = true
	}
	return own
}

// TestNoEnglishInTextOfOtherLanguages renders every template of the dumps of
// other languages alone and looks for English words that its source does not
// have.
func TestNoEnglishInTextOfOtherLanguages(t *testing.T) {
	english := englishWords()
	files, err := filepath.Glob(realdata.Path(t, "wiki") + "/minidumps/*.xml.bz2")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	dumps := map[string]string{"zhwiki-sample.xml.bz2": "zh", "frwiki-sample.xml.bz2": "fr", "dewiki-20170701-sample.xml.bz2": "de", "jawiki-articles-multistream.xml.bz2": "ja",
		"elwikivoyage-medium-pages-articles.xml.bz2": "el", "ltgwiki-pages-articles.xml.bz2": "ltg", "ngwiki-20130702-pages-articles.xml.bz2": "ng"}
	for _, f := range files {
		lang, _, _ := strings.Cut(filepath.Base(f), "wiki")
		if lang != "simple" {
			dumps["minidumps/"+filepath.Base(f)] = lang
		}
	}
	templates := 0
	for name, lang := range dumps {
		s := NewScanner(DefaultOptions())
		own := ownNames(lang)
		for _, p := range readPages(t, name) {
			if p.ns != "0" {
				continue
			}
			for _, source := range innermost(p.text) {
				templates++
				text := s.AppendText(nil, append([]byte("x "), source...), Page{Lang: lang, Title: p.title})
				if !addsWords(text, source) {
					continue
				}
				for _, word := range english.FindAll(text, -1) {
					if !bytes.Contains(bytes.ToLower(noBrackets.ReplaceAll(source, nil)), bytes.ToLower(bytes.Trim(word, " -:0123456789"))) && !own[string(word)] {
						t.Errorf("%s: page %s: %s gives %q: %q", name, p.title, source, text, word)
					}
				}
			}
		}
	}
	if templates < 10000 {
		t.Errorf("%d templates, want more than 10,000", templates)
	}
}

// noBrackets matches the brackets of links.
var noBrackets = regexp.MustCompile(`\[\[|\]\]`)

// addsWords reports whether text has words in ASCII letters that source does not
// have: a fast test that rules out most templates.
func addsWords(text, source []byte) bool {
	isNoLetter := func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }
	for word := range bytes.FieldsFuncSeq(text, isNoLetter) {
		if !bytes.Contains(source, word) && string(word) != "x" {
			return true
		}
	}
	return false
}

// innermost returns the templates of a page that hold no other ones.
func innermost(text []byte) (templates [][]byte) {
	start := -1
	for i := 0; i+1 < len(text); i++ {
		switch {
		case text[i] == '{' && text[i+1] == '{':
			start = i
		case text[i] == '}' && text[i+1] == '}' && start >= 0:
			templates = append(templates, text[start:i+2])
			start = -1
		}
	}
	return templates
}

// Templates that are rendered in English on English wikis, and on others in
// their language or without a word.
func TestTemplatesFollowTheLanguageOfTheWiki(t *testing.T) {
	for _, c := range []struct{ lang, source, want string }{
		{"uk", "{{lang-de|Berlin}}", "німецька: Berlin"}, {"zh", "（{{lang-en|x}}）", "（英语：x）"}, {"fr", "{{lang-en|x}}", "en anglais : x"},
		{"ba", "{{lang-de|Berlin}}", "Berlin"}, {"oc", "{{lang-de|Berlin}}", "Berlin"}, {"ko", "{{USA}} {{flag|GER}} {{flag|France}}", "미국 독일 프랑스"},
		{"ba", "a {{USA}} b", "a b"}, {"ba", "a {{flag|URS}} b", "a b"}, {"ru", "a {{flag|URS}} b", "a СССР b"},
		{"de", "{{circa|1350}}", "um 1350"}, {"ba", "{{circa|1350|1400}}", "1350 – 1400"}, {"pl", "{{circa|1350}}", "ok. 1350"},
		{"de", "{{start date|2001|9|11}}", "11. September 2001"}, {"uk", "{{start date|2001|9}}", "вересень 2001 р."}, {"ja", "{{start date|2001|9|11}}", "2001年9月11日"},
		{"cv", "{{start date|2001|9|11}}", "11 авӑн 2001 ҫ."}, {"ng", "{{start date|2001|9|11}} {{start date|2001|9}}", "2001-09-11 2001-09"},
		{"de", "{{as of|2015|3}}", "März 2015"}, {"zh", "{{as of|2015|3}}", "截至2015年3月"}, {"en", "{{as of|2015|3}}", "As of March 2015"},
		{"fr", "{{date|11 September 2001}}", "11 septembre 2001"}, {"de", "{{BCE|44}}", "44 v. Chr."}, {"en", "{{BC|44}} {{AD|14}}", "44 BC AD 14"}, {"ng", "{{BCE|44}}", "44"},
		{"uk", "{{convert|5|mi|km}}", "5 миль (8,0 км)"}, {"uk", "{{convert|1|mi|km}}", "1 миля (1,6 км)"}, {"uk", "{{convert|2|mi|km}}", "2 милі (3,2 км)"},
		{"zh", "{{convert|29|mi|km}}", "29英里（47公里）"}, {"ng", "{{convert|29|mi|km}}", "29 mi (47 km)"}, {"ng", "{{convert|100|acre}}", "100 ac (40 ha)"},
		{"de", "{{convert|101|e6acre}}", "101.000.000 Acres (41.000.000 ha)"}, {"de", "{{convert|5|to|10|km|mi}}", "5 bis 10 Kilometer (3,1 bis 6,2 mi)"},
		{"ru", "{{zh|c=中|s=国|p=guo}}", "китайский: 中; китайский, упрощенное письмо: 国; guo"}, {"de", "{{INRConvert|5|c}} x", "x"},
		{"fr", "au {{s|XIX|e}}", "au XIXe siècle"}, {"en", "the {{s|XIX}}", "the XIX"}, {"pt", "Do {{-séc|VI}} ao {{-séc|IV}}", "Do século VI a.C. ao século IV a.C."},
		{"hu", "{{szám|180000}} török", "180 000 török"}, {"fr", "{{sclass|Nimitz|x|0}}", "Nimitz"}, {"fr", "{{floruit|1200}}", "1200"}, {"fr", "{{yes}}x", "x"},
		{"de", "({{HuS|Zászlós}})", "(ungarisch Zászlós)"}, {"de", "{{grcS|πόλις|pólis}}", "altgriechisch πόλις pólis"}, {"de", "* {{Polen}} ⇒ Chorąży", "Polen ⇒ Chorąży"}, {"de", "{{Polen}}", ""},
		{"es", "el {{siglo|XVI||s}} y el {{siglo|XX}}, {{Siglo|V|a|S}}", "el siglo XVI y el XX, Siglo V a. C."}, {"pt", "{{PBPE|trem|comboio}}", "trem (português brasileiro) ou comboio (português europeu)"},
		{"it", "{{M|3,5||m/s}} {{M|10|u=km}} {{TA|3 km²}}", "3,5 m/s 10 km 3 km²"}, {"fr", "* {{Jumelage|Los Angeles|États-Unis|année=1967}}", "Los Angeles (États-Unis)"},
		{"lt", "({{de|Bär}}), {{de}} x", "(Bär), x"}, {"ko", "{{llang|en|Berlin}}", "영어: Berlin"}, {"fi", "({{k-de|Bezirk}})", "(saksa: Bezirk)"}, {"tr", "{{dil-de|Berlin}}", "Almanca: Berlin"},
		{"ar", "نهر {{ألمانية|Spree}} x", "نهر (بالألمانية: Spree) x"}, {"ro", "{{conversie|3|C|F}}", "3 °C (37 °F)"}, {"he", "א{{הערה|b}} ב", "א ב"}, {"br", "En {{XIIvet}} kantved", "En XIIvet kantved"},
	} {
		t.Run(fmt.Sprint(c.lang, " ", c.source), func(t *testing.T) {
			if got := string(NewScanner(DefaultOptions()).AppendText(nil, []byte(c.source), Page{Lang: c.lang})); got != c.want {
				t.Errorf("%s in %s: %q, want %q", c.source, c.lang, got, c.want)
			}
		})
	}
}
