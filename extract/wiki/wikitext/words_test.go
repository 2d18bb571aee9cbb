package wikitext

import (
	"testing"
	"unicode"
)

func TestRedirectsOfAllLanguages(t *testing.T) {
	tests := []struct {
		src  string
		want bool
	}{
		{"#REDIRECT [[a]]", true},
		{"#redirect[[a]]", true},
		{"#Redirect: [[a]]", true},
		{"#REDIRECT : [[a]]", true},
		{"  \n#REDIRECT [[a]]", true},
		{"#REDIRECT\n[[a]]", true},
		{"# REDIRECT [[a]]", true},
		{"#WEITERLEITUNG [[a]]", true},
		{"#перенаправление [[a]]", true},
		{"#ПЕРЕНАПРАВЛЕНИЕ [[a]]", true},
		{"#転送 [[a]]", true},
		{"＃転送 [[a]]", true},
		{"#重定向 [[a]]", true},
		{"#넘겨주기 [[a]]", true},
		{"#تحويل [[a]]", true},
		{"#RINVIA [[a]]", true},
		{"#ALIH [[a]]", true},
		{"", false},
		{"#", false},
		{"#REDIRECT", false},
		{"#REDIRECT a", false},
		{"#REDIRECTED [[a]]", false},
		{"# item [[a]]", false},
		{"a #REDIRECT [[a]]", false},
		{"REDIRECT [[a]]", false},
	}
	for _, test := range tests {
		if got := IsRedirect([]byte(test.src)); got != test.want {
			t.Errorf("%q: got %v, want %v", test.src, got, test.want)
		}
	}
}

func TestDisambiguationPagesSaySo(t *testing.T) {
	tests := []struct {
		src  string
		want bool
	}{
		{"'''A''' may be:\n* b\n{{disambig}}", true},
		{"{{Disambiguation|geo}}", true},
		{"{{ hndis |x}}", true},
		{"{{Begriffsklärung}}", true},
		{"{{Homonymie}}", true},
		{"{{desambiguación}}", true},
		{"{{曖昧さ回避}}", true},
		{"{{неоднозначность}}", true},
		{"a __DISAMBIG__", true},
		{"{{infobox|a={{b}}}} {{dab}}", true},
		{"", false},
		{"disambig", false},
		{"{{other uses|a (disambiguation)}}", false},
		{"{{x|{{disambig}}}}", false},
		{"{{{disambig}}}", false},
		{"{{surname}}", false},
	}
	for _, test := range tests {
		if got := IsDisambiguation([]byte(test.src)); got != test.want {
			t.Errorf("%q: got %v, want %v", test.src, got, test.want)
		}
	}
}

func TestNamespacesOfAllLanguages(t *testing.T) {
	tests := map[string]word{
		"File:a": wordFile, "image:a": wordFile, "Datei:a": wordFile, "Fichier:a": wordFile, "Файл:a": wordFile,
		"ファイル:a": wordFile, "画像:a": wordFile, "檔案:a": wordFile, "ملف:a": wordFile, " file :a": wordFile, "DATEI:a": wordFile,
		"Category:a": wordCategory, "Kategorie:a": wordCategory, "КАТЕГОРИЯ:a": wordCategory, "Κατηγορία:a": wordCategory,
		"Media:a": wordMedia, "de:a": wordLanguage, "zh-min-nan:a": wordLanguage,
		"a": wordOther, "Star Trek: a": wordOther, ":File:a": wordOther, "wikt:a": wordOther, "": wordOther,
	}
	var scratch []byte
	for target, want := range tests {
		if got := namespaceOf([]byte(target), &scratch); got != want {
			t.Errorf("%q: got %v, want %v", target, got, want)
		}
	}
}

// The scripts that toLower leaves out have no small letters.
func TestLowerCaseIsUnicodes(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got, want := toLower(r), unicode.ToLower(r); got != want {
			t.Fatalf("%U: got %U, want %U", r, got, want)
		}
	}
}
