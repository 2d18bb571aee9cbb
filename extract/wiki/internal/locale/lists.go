package locale

import (
	_ "embed"
	"strings"
)

// ListWords are the words between the items of a list, with the spaces around them, and what
// stands for text that was cut off.
type ListWords struct{ And, Comma, Ellipsis string }

// listLines has a line for each language: its code, and the messages "and",
// "comma-separator" (if empty, a comma and a space), "word-separator" (a space; ∅ is the
// empty text) and "ellipsis" (three dots), with tabs between them. Source: the files
// languages/i18n/*.json of MediaWiki 1.39, with the languages that each falls back to.
//
//go:embed lists.tsv
var listLines string

// formerCodes are codes that wikis use, and those of the messages that they show: MediaWiki's
// LanguageCode, and two codes without messages of their own.
var formerCodes = [...][2]string{{"simple", "en"}, {"als", "gsw"}, {"bat-smg", "sgs"}, {"be-x-old", "be-tarask"}, {"fiu-vro", "vro"},
	{"roa-rup", "rup"}, {"zh-classical", "lzh"}, {"zh-min-nan", "nan"}, {"zh-yue", "yue"}, {"no", "nb"}}

// presentCode returns the code under which MediaWiki has the messages of a language.
func presentCode(code string) string {
	for _, c := range formerCodes {
		if c[0] == code {
			return c[1]
		}
	}
	return code
}

// ListWordsOf returns the words of a language; ok is false if MediaWiki does not know it.
func ListWordsOf(code string) (w ListWords, ok bool) {
	_, rest, ok := strings.Cut("\n"+listLines, "\n"+presentCode(code)+"\t")
	if !ok {
		return ListWords{}, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	fields := append(strings.Split(line, "\t"), "", "", "")
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return strings.TrimPrefix(text, "∅")
	}
	return ListWords{fields[0] + or(fields[2], " "), or(fields[1], ", "), or(fields[3], "...")}, true
}
