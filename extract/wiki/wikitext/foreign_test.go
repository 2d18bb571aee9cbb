package wikitext

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pretext/extract/wiki/rendering"
	"pretext/internal/dev/realdata"
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
		words = append(words, `\b`+month+`(?:\PL|$)`) // not Turkish "Mayıs"
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
	for k := range 12 { // and what the wiki's own data say
		own[table.Text(rendering.Month, fmt.Sprintf("%02d", k+1))] = true
	}
	return own
}

// TestNoEnglishInTextOfOtherLanguages renders every template of the dumps of
// other languages alone and looks for English words that its source does not
// have.
func TestNoEnglishInTextOfOtherLanguages(t *testing.T) {
	english := englishWords()
	dumps := foreignDumps(t)
	templates := 0
	for name, lang := range dumps {
		s := NewScanner(DefaultOptions())
		own := ownNames(lang)
		for _, p := range readPages(t, name) {
			if p.ns != "0" && p.ns != "" {
				continue
			}
			for _, source := range innermost(p.text) {
				templates++
				text := s.AppendText(nil, append([]byte("x "), source...), Page{Lang: lang, Title: p.title})
				if !addsWords(text, source) {
					continue
				}
				for _, word := range english.FindAll(text, -1) {
					if !bytes.Contains(bytes.ToLower(noBrackets.ReplaceAll(source, nil)), bytes.ToLower(bytes.Trim(word, " -:.,)0123456789"))) && !own[string(bytes.TrimRight(word, " ,.)"))] {
						t.Errorf("%s: page %s: %s gives %q: %q", name, p.title, source, text, word)
					}
				}
			}
		}
	}
	if len(dumps) < 70 {
		t.Errorf("%d dumps, want 70", len(dumps))
	}
	if templates < 10000 {
		t.Errorf("%d templates, want more than 10,000", templates)
	}
}

// foreignDumps returns the dumps in other languages than English, with their
// languages: all whose name is not known to be of an English wiki.
func foreignDumps(t *testing.T) map[string]string {
	root := realdata.Path(t, "wiki")
	dumps := map[string]string{}
	for _, pattern := range []string{"*.xml", "*.xml.bz2", "minidumps/*.xml.bz2"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, len(files), err)
		}
		for _, f := range files {
			lang, _, _ := strings.Cut(filepath.Base(f), "wik")
			switch lang {
			case "en", "simple", "shinto":
				continue
			}
			name, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			dumps[name] = lang
		}
	}
	return dumps
}

// The test of the dumps would see what English templates write.
func TestEnglishWordsAreFound(t *testing.T) {
	english := englishWords()
	for _, text := range []string{"German: Berlin", "5 miles (8 km)", "United States", "As of March 2015", "c. 1350", "11 September 2001", "44 BC", "Nimitz-class", "since 2001", "5 to 10", "3 million", "100 sq mi", "romanized: x"} {
		if !english.MatchString("Це x " + text + " є") {
			t.Errorf("%q is not found", text)
		}
	}
}

// foreignLanguages are those in which templates with English names are tested:
// of the largest wikis, and some that CLDR does not know.
var foreignLanguages = strings.Fields("ar az ba be bg bn bs ca ceb cs cv cy da de el eo es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka kk ko ky la lb lt ltg lv mk ml mn mr ms ne ng nl nn no oc pl pms pt ro ru sah sh sk sl sq sr sv sw ta te tg th tl tr tt uk ur uz vec vi war yo zh")

// foreignTemplates are templates of the English Wikipedia that others have under
// the same name, with arguments that are no English words.
var foreignTemplates = []string{
	"{{lang-de|Berlin}}", "{{lang-ru|Москва|Moskva}}", "{{lang-sr-Latn|x}}", "{{langx|de|Berlin}}", "{{langx|grc|πόλις|pólis|lit=x}}", "{{lang|fr|Paris}}", "{{lang-xyz|x}}",
	"{{flag|FRA}}", "{{flag|France}}", "{{flagcountry|GER}}", "{{flagu|USA}}", "{{USA}}", "{{GBR}}", "{{URS}}", "{{flag|URS}}", "{{fb|BRA}}", "{{flagathlete|X|KEN}}", "{{noc|JPN}}",
	"{{convert|29|mi|km}}", "{{convert|29|mi}}", "{{convert|1|ft}}", "{{convert|5|to|10|km|mi}}", "{{convert|5|and|10|lb}}", "{{convert|5|by|10|ft}}", "{{convert|5|x|10|ft|abbr=off}}", "{{convert|3|e6acre}}", "{{convert|3|e9USgal}}",
	"{{convert|5|ft|10|in}}", "{{convert|100|acre}}", "{{convert|20|C}}", "{{convert|60|mph}}", "{{convert|5|sqmi}}", "{{convert|10|hp}}", "{{convert|3|st|4|lb}}", "{{convert|5|km|abbr=off}}", "{{convert|7|nmi|disp=or}}", "{{convert|3|to about|5|mi}}",
	"{{cvt|5|mi}}", "{{convert|9|in|adj=on}}", "{{convert|10|USgal}}", "{{convert|10|cuft}}", "{{convert|2|hand}}", "{{convert|12|stone}}", "{{convert|5|LT}}",
	"{{birth date|1990|5|1}}", "{{birth date and age|1990|5|1}}", "{{death date and age|2001|9|11|1950|1|2}}", "{{start date|2001|9|11}}", "{{start date|2001|9}}", "{{end date|2001}}", "{{film date|2001|9|11}}", "{{dts|2001|9|11}}",
	"{{start and end dates|2001|1|2|2003|4|5}}", "{{date|11 September 2001}}", "{{date|2001-09-11}}", "{{date|September 2001}}", "{{age|1990|5|1|2000|4|30}}", "{{birth-date|11 September 2001}}", "{{release date|2001|9|11}}", "{{OldStyleDate|3 x|1700|22 y}}",
	"{{as of|2015}}", "{{as of|2015|3}}", "{{as of|2015|3|1|lc=y}}", "{{as of|since=y|2015}}", "{{circa|1350}}", "{{circa|1350|1400}}", "{{c.|1350}}", "{{ca|1350}}", "{{floruit|1200}}", "{{fl.|1200|1210}}", "{{r.|1200|1210}}", "{{reign|1200|1210}}",
	"{{BC|44}}", "{{BCE|44}}", "{{AD|14}}", "{{CE|14}}", "{{born|1900}}", "{{died|1900}}", "{{b.|1900}}", "{{d.|1900}}", "{{née|X}}", "{{nee|X}}", "{{lit|x}}", "{{literal translation|x}}", "{{yes}}", "{{no}}",
	"{{zh|c=中|s=国|t=國|p=guo|l=x}}", "{{nihongo|X|東京|Tōkyō}}", "{{nihongo3|X|東京|Tōkyō}}", "{{korean|hangul=가|hanja=家|rr=ga}}", "{{transl|ru|Moskva}}", "{{ill|X|de|X}}", "{{IPA|/x/}}", "{{IPA-de|x}}", "{{IPAc-en|x}}", "{{pronunciation|x}}",
	"{{ship|USS|X|CVN-65}}", "{{sclass|X|y}}", "{{sclass-|X|y|0}}", "{{HMS|X}}", "{{height|ft=5|in=10}}", "{{frac|1|2}}", "{{val|5|e=6|u=m}}", "{{val|5|ul=km/h}}", "{{e|6}}", "{{INRConvert|5|c}}", "{{INRConvert|5|l}}", "{{US$|5}}", "{{USD|5}}", "{{€|5}}", "{{£|5}}", "{{£sd|l=1|s=2|d=3}}",
	"{{harvtxt|X|2001}}", "{{harvs|last=X|year=2001}}", "{{bibleverse||X|3:16}}", "{{track gauge|sg}}", "{{track gauge|1435mm}}", "{{nuclide|U|235}}", "{{music|flat}}", "{{sic|x}}", "{{abbr|x|y}}", "{{formatnum:12345.6}}", "{{nowrap|x}}", "{{inflation|US|100|1900}}", "{{bd|1900年|1月1日|1980年|2月2日}}",
	"{{citation needed|date=May 2010}}", "{{when|date=May 2010}}", "{{who}}", "{{clarify}}", "{{coord|52|31|N|13|23|E}}", "{{quote|x}}", "{{US patent|1234}}", "{{section link|X|y}}", "{{CURRENTMONTHNAME}}",
	"{{cite book|title=X|year=2001}}", "{{sfn|X|2001}}", "{{rp|5}}", "{{efn|x}}", "{{see also|X}}", "{{main|X}}", "{{further|X}}", "{{percentage|1|2}}", "{{ordinal|5}}", "{{population density|5|6}}", "{{time ago|2001}}", "{{carbon}}", "{{uk}}", "{{gender|a}}",
}

// TestTemplatesWithEnglishNamesWriteNoEnglish renders each template in each
// language.
func TestTemplatesWithEnglishNamesWriteNoEnglish(t *testing.T) {
	english := englishWords()
	written := 0
	for _, lang := range foreignLanguages {
		own, units := ownNames(lang), ownUnits(lang)
		s := NewScanner(DefaultOptions())
		for _, source := range foreignTemplates {
			text := s.AppendText(nil, []byte("* x "+source+" x"), Page{Lang: lang, Title: "X"})
			if len(text) > len("x x") {
				written++
			}
			if !addsWords(text, []byte(source)) {
				continue
			}
			for _, word := range english.FindAll(text, -1) {
				word := strings.TrimFunc(string(word), func(r rune) bool { return !unicode.IsLetter(r) && r != '.' && r != ':' })
				if !strings.Contains(source, word) && !own[word] && !strings.Contains(units, word) {
					t.Errorf("%s: %s gives %q: %q", lang, source, text, word)
				}
			}
		}
	}
	if written < 100*len(foreignLanguages) {
		t.Errorf("%d of %d give text", written, len(foreignLanguages)*len(foreignTemplates))
	}
}

// ownUnits returns a language's names of units and its labels, which may have
// words that English has too.
func ownUnits(lang string) string {
	var b strings.Builder
	for _, e := range rendering.NewSet().Known(lang, "") {
		switch e.Kind {
		case rendering.UnitName, rendering.UnitSymbol, rendering.Label:
			if e.Scope != "all" {
				b.WriteString(e.Value + "\n")
			}
		}
	}
	return b.String()
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
		{"uk", "{{lang-de|Berlin}}", "нім. Berlin"}, {"ru", "{{lang-de|Berlin}}", "нем. Berlin"}, {"cs", "{{lang-de|Berlin}}", "německy Berlin"}, {"id", "{{lang-de|Berlin}}", "bahasa Jerman: Berlin"}, {"vi", "{{lang-de|Berlin}}", "tiếng Đức: Berlin"}, {"ar", "{{lang-de|Berlin}}", "بالألمانية: Berlin"}, {"de", "({{laS|x}})", "(lateinisch x)"}, {"de", "{{höhe|1150|DE-NHN}} {{höhe|5}}", "1150 m ü. NHN 5 m"}, {"ru", "это {{нп5|Имя}} есть", "это Имя есть"}, {"zh", "a{{tsl|en|X}}b", "aXb"}, {"zh", "（{{lang-en|x}}）", "（英语：x）"}, {"fr", "{{lang-en|x}}", "en anglais : x"},
		{"ba", "{{lang-de|Berlin}}", "Berlin"}, {"oc", "{{lang-de|Berlin}}", "Berlin"}, {"ko", "{{USA}} {{flag|GER}} {{flag|France}}", "미국 독일 프랑스"},
		{"ba", "a {{USA}} b", "a b"}, {"ba", "a {{flag|URS}} b", "a b"}, {"ru", "a {{flag|URS}} b", "a СССР b"},
		{"de", "{{circa|1350}}", "um 1350"}, {"ba", "{{circa|1350|1400}}", "1350 – 1400"}, {"pl", "{{circa|1350}}", "ok. 1350"},
		{"de", "{{start date|2001|9|11}}", "11. September 2001"}, {"uk", "{{start date|2001|9}}", "вересень 2001"}, {"ja", "{{start date|2001|9|11}}", "2001年9月11日"},
		{"cv", "{{start date|2001|9|11}}", "11 авӑн 2001 ҫ."}, {"ng", "{{start date|2001|9|11}} {{start date|2001|9}}", "2001-09-11 2001-09"},
		{"de", "{{as of|2015|3}}", "März 2015"}, {"zh", "{{as of|2015|3}}", "截至2015年3月"}, {"en", "{{as of|2015|3}}", "As of March 2015"},
		{"fr", "{{date|11 September 2001}}", "11 septembre 2001"}, {"de", "{{BCE|44}}", "44 v. Chr."}, {"en", "{{BC|44}} {{AD|14}}", "44 BC AD 14"}, {"ng", "{{BCE|44}}", "44"},
		{"uk", "{{convert|5|mi|km}}", "5 миль (8,0 км)"}, {"uk", "{{convert|1|mi|km}}", "1 миля (1,6 км)"}, {"uk", "{{convert|2|mi|km}}", "2 милі (3,2 км)"},
		{"zh", "{{convert|29|mi|km}}", "29英里（47公里）"}, {"ng", "{{convert|29|mi|km}}", "29 mi (47 km)"}, {"ng", "{{convert|100|acre}}", "100 ac (40 ha)"},
		{"de", "{{convert|101|e6acre}}", "101.000.000 Acres (41.000.000 ha)"}, {"de", "{{convert|5|to|10|km|mi}}", "5 bis 10 Kilometer (3,1 bis 6,2 mi)"},
		{"ru", "{{zh|c=中|s=国|p=guo}}", "кит. 中; кит. 国; guo"}, {"de", "{{INRConvert|5|c}} x", "x"},
		{"fr", "au {{s|XIX|e}}", "au XIXe siècle"}, {"en", "the {{s|XIX}}", "the XIX"}, {"pt", "Do {{-séc|VI}} ao {{-séc|IV}}", "Do século VI a.C. ao século IV a.C."},
		{"hu", "{{szám|180000}} török", "180 000 török"}, {"fr", "{{sclass|Nimitz|x|0}}", "Nimitz"}, {"fr", "{{floruit|1200}}", "1200"}, {"fr", "{{yes}}x", "x"},
		{"de", "({{HuS|Zászlós}})", "(ungarisch Zászlós)"}, {"de", "{{grcS|πόλις|pólis}}", "altgriechisch πόλις pólis"}, {"de", "* {{Polen}} ⇒ Chorąży", "Polen ⇒ Chorąży"}, {"de", "{{Polen}}", ""},
		{"es", "el {{siglo|XVI||s}} y el {{siglo|XX}}, {{Siglo|V|a|S}}", "el siglo XVI y el XX, Siglo V a. C."}, {"pt", "{{PBPE|trem|comboio}}", "trem (português brasileiro) ou comboio (português europeu)"},
		{"it", "{{M|3,5||m/s}} {{M|10|u=km}} {{TA|3 km²}}", "3,5 m/s 10 km 3 km²"}, {"fr", "* {{Jumelage|Los Angeles|États-Unis|année=1967}}", "Los Angeles (États-Unis)"},
		{"de", "a {{ESP}} b {{IND}}", "a Spanien b Indien"}, {"fr", "10{{esp|3}} {{lang|en|texte=book}} x", "10×103 book x"}, {"en", "a {{IND}} b", "a India b"},
		{"lt", "({{de|Bär}}), {{de}} x", "(vok. Bär), x"}, {"ko", "{{llang|en|Berlin}}", "영어: Berlin"}, {"fi", "({{k-de|Bezirk}})", "(saks. Bezirk)"}, {"tr", "{{dil-de|Berlin}}", "Almanca: Berlin"},
		{"ar", "نهر {{ألمانية|Spree}} x", "نهر (بالألمانية: Spree) x"}, {"ro", "{{conversie|3|C|F}}", "3 °C (37 °F)"}, {"he", "א{{הערה|b}} ב", "א ב"}, {"br", "En {{XIIvet}} kantved", "En XIIvet kantved"},
	} {
		t.Run(fmt.Sprint(c.lang, " ", c.source), func(t *testing.T) {
			if got := string(NewScanner(DefaultOptions()).AppendText(nil, []byte(c.source), Page{Lang: c.lang})); got != c.want {
				t.Errorf("%s in %s: %q, want %q", c.source, c.lang, got, c.want)
			}
		})
	}
}
