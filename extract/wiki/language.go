package wiki

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"pretext/extract/wiki/wikitext"
)

// projects are the suffixes of database names, after the language code.
var projects = []string{"wiki", "wiktionary", "wikivoyage", "wikisource", "wikiquote", "wikibooks", "wikinews", "wikiversity"}

// wikiLanguages maps language codes of wikis to BCP 47 codes, where they differ.
var wikiLanguages = map[string]string{
	"simple": "en", "no": "nb", "als": "gsw", "bat_smg": "sgs", "be_x_old": "be", "be_tarask": "be", "cbk_zam": "cbk", "fiu_vro": "vro",
	"map_bms": "jv", "nds_nl": "nds", "roa_rup": "rup", "roa_tara": "nap", "zh_classical": "lzh", "zh_min_nan": "nan", "zh_yue": "yue",
}

// LanguageOf returns the language of the wiki with the given database name, such as
// "fr" for "frwiki". It returns "" if the name is not one of a Wikimedia wiki in a
// known language.
func LanguageOf(dbname string) string {
	for _, project := range projects {
		code, ok := strings.CutSuffix(dbname, project)
		if !ok || code == "" {
			continue
		}
		if lang := wikiLanguages[code]; lang != "" {
			return lang
		}
		base, err := language.ParseBase(code)
		if err == nil && len(code) <= 3 && wikitext.IsLanguageCode(code) {
			return code // also those without a name in CLDR, such as azb
		}
		if err == nil && len(code) <= 3 && display.English.Languages().Name(base) != "" {
			return code
		}
	}
	return ""
}

// Language returns the language of a dump's pages. It is the language in the dump's
// head, unless the file is named after another Wikimedia wiki: some collections of
// dumps have the head of the English Wikipedia in every file.
func (d Dump) Language() string {
	name := DBName(d.Name)
	lang := LanguageOf(name)
	if d.Head.DBName == "" || d.Head.DBName == name || lang == "" || LanguageOf(d.Head.DBName) == "" {
		return d.Head.Lang
	}
	return lang
}
