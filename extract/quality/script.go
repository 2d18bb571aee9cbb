package quality

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/language"
)

// scripts maps codes of scripts (ISO 15924) to Unicode tables of their characters.
var scripts = sync.OnceValue(func() map[string][]*unicode.RangeTable {
	return map[string][]*unicode.RangeTable{
		"Adlm": {unicode.Adlam}, "Arab": {unicode.Arabic}, "Armn": {unicode.Armenian}, "Beng": {unicode.Bengali}, "Bugi": {unicode.Buginese},
		"Cans": {unicode.Canadian_Aboriginal}, "Cher": {unicode.Cherokee}, "Cyrl": {unicode.Cyrillic}, "Deva": {unicode.Devanagari},
		"Ethi": {unicode.Ethiopic}, "Geor": {unicode.Georgian}, "Grek": {unicode.Greek}, "Gujr": {unicode.Gujarati}, "Guru": {unicode.Gurmukhi},
		"Hans": {unicode.Han}, "Hant": {unicode.Han}, "Hebr": {unicode.Hebrew}, "Java": {unicode.Javanese, unicode.Latin},
		"Jpan": {unicode.Han, unicode.Hiragana, unicode.Katakana}, "Khmr": {unicode.Khmer}, "Knda": {unicode.Kannada},
		"Kore": {unicode.Hangul, unicode.Han}, "Laoo": {unicode.Lao}, "Latn": {unicode.Latin}, "Mlym": {unicode.Malayalam},
		"Mong": {unicode.Mongolian}, "Mtei": {unicode.Meetei_Mayek}, "Mymr": {unicode.Myanmar}, "Nkoo": {unicode.Nko},
		"Olck": {unicode.Ol_Chiki}, "Orya": {unicode.Oriya}, "Sinh": {unicode.Sinhala}, "Sund": {unicode.Sundanese},
		"Syrc": {unicode.Syriac}, "Taml": {unicode.Tamil}, "Telu": {unicode.Telugu}, "Tfng": {unicode.Tifinagh}, "Thaa": {unicode.Thaana},
		"Thai": {unicode.Thai}, "Tibt": {unicode.Tibetan},
	}
})

// alsoWritten maps languages to further scripts in which they are written, besides
// CLDR's likely script.
var alsoWritten = sync.OnceValue(func() map[string][]*unicode.RangeTable {
	return map[string][]*unicode.RangeTable{
		"az": {unicode.Arabic, unicode.Cyrillic}, "ber": {unicode.Latin, unicode.Tifinagh}, "bs": {unicode.Cyrillic}, "crh": {unicode.Cyrillic, unicode.Latin},
		"cdo": {unicode.Latin}, "ha": {unicode.Arabic}, "hak": {unicode.Latin}, "iu": {unicode.Latin}, "kab": {unicode.Tifinagh}, "kk": {unicode.Arabic, unicode.Latin}, "ks": {unicode.Devanagari},
		"ku": {unicode.Arabic}, "ky": {unicode.Arabic}, "mn": {unicode.Mongolian}, "ms": {unicode.Arabic}, "nan": {unicode.Latin}, "pa": {unicode.Arabic}, "ro": {unicode.Cyrillic},
		"sd": {unicode.Devanagari}, "sh": {unicode.Cyrillic, unicode.Latin}, "sr": {unicode.Latin}, "tg": {unicode.Latin, unicode.Arabic}, "tk": {unicode.Cyrillic},
		"tt": {unicode.Latin}, "ug": {unicode.Latin, unicode.Cyrillic}, "uz": {unicode.Cyrillic, unicode.Arabic}, "zgh": {unicode.Latin},
	}
})

// scriptsOf returns the scripts of a language, given its BCP 47 code: the script in the
// code ("sr-Latn"), or CLDR's likely script and the scripts in alsoWritten. It returns
// nil if the scripts are unknown.
func scriptsOf(lang string) []*unicode.RangeTable {
	if lang == "simple" { // Wikimedia's code of Simple English
		lang = "en"
	}
	tag, err := language.Parse(lang)
	if err != nil || lang == "" {
		return nil
	}
	script, confidence := tag.Script()
	if confidence == language.No {
		return nil
	}
	tables := scripts()[script.String()]
	if tables == nil || strings.Contains(strings.ToLower(lang), strings.ToLower(script.String())) {
		return tables // unknown script, or a script given in the code
	}
	base, _ := tag.Base()
	return append(tables[:len(tables):len(tables)], alsoWritten()[base.String()]...)
}

// scriptShare returns the fraction of the document's letters that belong to the scripts
// of its language. ok is false if the scripts are unknown.
func (p *profile) scriptShare() (share float64, ok bool) {
	tables := scriptsOf(p.doc.Lang)
	if tables == nil {
		return 0, false
	}
	latin := unicode.In('a', tables...)
	letters, own := 0, 0
	for _, r := range p.doc.Text {
		switch {
		case r < 0x80:
			if 'a' <= r|0x20 && r|0x20 <= 'z' {
				letters++
				if latin {
					own++
				}
			}
		case unicode.IsLetter(r) && !unicode.Is(unicode.Common, r):
			letters++
			if unicode.In(r, tables...) {
				own++
			}
		}
	}
	return ratio(own, letters)
}
