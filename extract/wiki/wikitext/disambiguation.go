package wikitext

import (
	"bytes"
	"unicode/utf8"
)

// disambiguations are the names, in lower case, of the templates that mark a
// page as a disambiguation page, in the languages of Wikipedia (from the pages
// MediaWiki:Disambiguationspage of the wikis). Templates that mark lists of
// persons with the same name are not included.
var disambiguations = makeSet(
	"disambig", "dab", "disambiguation", "disamb", "disambiguation page", "disambiguation cleanup", "disambig-cleanup", "disambig cleanup",
	"geodis", "hndis", "hndis-cleanup", "human name disambiguation", "place name disambiguation", "hospital disambiguation", "hospitaldis",
	"letter disambig", "letter disambiguation", "letter-number combination disambiguation", "letternumbercombdisambig", "mathdab", "mathematical disambiguation",
	"numberdis", "number disambiguation", "roaddis", "road disambiguation", "schooldis", "school disambiguation", "species latin name disambiguation",
	"species latin name abbreviation disambiguation", "latindab", "chinese title disambig", "airport disambiguation", "airportdis", "biology disambiguation",
	"call sign disambiguation", "callsigndis", "caselaw disambiguation", "church disambiguation", "churchdis", "genus disambiguation", "taxonomy disambiguation",
	"station disambiguation", "stationdis", "synagogue disambiguation", "wp disambig", "portal disambiguation", "surname disambiguation", "given name disambiguation", "three letter disambig", "tlad", "3cc", "2cc", "4cc",
	"begriffsklärung", "bks", "begriffsklärig", "homonymie", "homonymes", "paronymie", "patronyme", "toponymie", "sigle", "arrondissements homonymes", "internationalisation homonymie", "désambiguïsation",
	"desambiguación", "desambiguacion", "des", "desambigua", "disambigua", "desambiguação", "desambig", "desambiguació", "dp", "dpintro", "doorverwijspagina", "dubbelsinnig",
	"förgrening", "gren", "namnsida", "grensida", "flertydig", "peker", "fleirtyding", "täsmennyssivu", "täsmennys", "ujednoznacznienie", "rozcestník", "rozlišovacia stránka",
	"egyért", "dezambiguizare", "anlam ayrımı", "anlamayrımı", "trang định hướng", "định hướng", "tđh", "неоднозначность", "многозначность", "disambig-ru", "список однофамильцев", "фамилия",
	"багатозначність", "неоднозначність", "пояснение", "вишезначна одредница", "višeznačna odrednica", "razdvojba", "čvor", "razločitev", "појаснување", "неадназначнасць", "неадназначнасьць",
	"αποσαφήνιση", "توضيح", "צפירושונים", "פירושונים", "ابهام\u200cزدایی", "ابهامزدایی", "aimai", "曖昧さ回避", "人名の曖昧さ回避", "地名の曖昧さ回避", "同名の作品", "disambig-ja", "消歧义", "消歧義", "消歧义页", "消歧義頁", "消除歧义", "消除歧義", "消含糊", "搞清楚", "동음이의", "동명이인",
	"แก้กำกวม", "kth", "kthjellim", "apartigilo", "argipen", "homónimos", "gwahaniaethu", "discretiva", "daugiareikšmis", "nuorodinis", "nozīmju atdalīšana", "täpsustuslehekülg", "täpsustus", "aðgreining", "երկիմաստ", "երկիմաստության փարատում", "მრავალმნიშვნელოვანი", "dəqiqləşdirmə", "айрық", "omonimeye", "omonimia", "dixebra", "desambigazión", "telplänov", "mehrdüdig begreep", "fleiri týdningar",
	"দ্ব্যর্থতা নিরসন", "बहुविकल्पी", "बहुविकल्पी शब्द", "அயற்பெயர்", "பக்கவழி நெறிப்படுத்தல்", "అయోమయ నివృత్తి", "നാനാർത്ഥം", "ನಾನಾರ್ಥ", "ضد ابہام", "ملتبس",
)

// disambiguationSwitch is the behaviour switch that marks a disambiguation page
// (extension Disambiguator).
var disambiguationSwitch = []byte("__DISAMBIG__")

// IsDisambiguation reports whether the page with the wikitext src is a disambiguation
// page: it has __DISAMBIG__ or, in any language, a template that marks such pages. A
// template inside another template does not count.
func IsDisambiguation(src []byte) bool {
	if bytes.Contains(src, disambiguationSwitch) {
		return true
	}
	var scratch [2 * maxDisambiguation]byte
	depth := depthFinder{src: src}
	for i := 0; ; {
		k := bytes.IndexByte(src[i:], '{')
		if k < 0 {
			return false
		}
		i += k
		run := runLength(src, i)
		if run == 2 && mayNameDisambiguation(src[i+2:]) {
			if buf := scratch[:0]; namesDisambiguation(src[i+2:], &buf) && depth.at(i) == 0 {
				return true
			}
		}
		i += run
	}
}

// A depthFinder counts how many templates are open at an offset. Offsets must
// increase from call to call.
type depthFinder struct {
	src      []byte
	i, depth int
}

// at returns the number of templates open at i, which must not be inside a run
// of braces.
func (f *depthFinder) at(i int) int {
	for {
		f.i = skip(f.src[:i], f.i, classBrace)
		if f.i >= i {
			return f.depth
		}
		run := 1
		switch f.src[f.i] {
		case '{':
			run = runLength(f.src, f.i)
			f.depth += run / 2
		case '}':
			run = runLength(f.src, f.i)
			f.depth = max(0, f.depth-run/2)
		}
		f.i += run
	}
}

// maxDisambiguation is the maximum length, in bytes, of a template name that is
// looked up in disambiguations.
const maxDisambiguation = 80

// disambiguationPairs has a bit for each pair of ASCII bytes that begins a name in
// disambiguations. Most other templates are rejected by this table, without a map
// lookup.
var disambiguationPairs = buildDisambiguationPairs()

func buildDisambiguationPairs() (t [utf8.RuneSelf][utf8.RuneSelf / 64]uint64) {
	for name := range disambiguations {
		if name[0] < utf8.RuneSelf && name[1] < utf8.RuneSelf {
			t[name[0]][name[1]/64] |= 1 << (name[1] % 64)
		}
	}
	return t
}

// mayNameDisambiguation reports whether b, after white space, begins with two
// bytes that may begin a name in disambiguations, in upper or lower case.
func mayNameDisambiguation(b []byte) bool {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	if len(b) < 2 || b[0] >= utf8.RuneSelf || b[1] >= utf8.RuneSelf {
		return true
	}
	first, second := foldByte(b[0]), foldByte(b[1])
	return disambiguationPairs[first][second/64]>>(second%64)&1 != 0
}

// foldByte converts an ASCII letter to lower case and an underscore to a space,
// as [fold] does for a whole name.
func foldByte(c byte) byte {
	switch {
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	case c == '_':
		return ' '
	}
	return c
}

// namesDisambiguation reports whether b, the source after "{{", begins with the
// name of a template that marks a disambiguation page.
func namesDisambiguation(b []byte, scratch *[]byte) bool {
	end := bytes.IndexAny(b[:min(len(b), maxDisambiguation)], "|}\n<")
	if end < 0 {
		return false
	}
	return disambiguations[string(fold(scratch, trimSpace(b[:end])))]
}
