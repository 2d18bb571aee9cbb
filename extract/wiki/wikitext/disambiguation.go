package wikitext

import "bytes"

// disambiguations are the templates that mark a page as a list of meanings,
// in the languages of Wikipedia (their pages MediaWiki:Disambiguationspage),
// folded. Lists of given names and surnames are not among them.
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

// disambiguationSwitch is the behaviour switch of the same meaning (extension
// Disambiguator).
var disambiguationSwitch = []byte("__DISAMBIG__")

// IsDisambiguation tells whether a page says that it is a list of the meanings
// of its title: by one of the templates for that, in any language, or by
// __DISAMBIG__. A template inside another one does not count.
func IsDisambiguation(src []byte) bool {
	if bytes.Contains(src, disambiguationSwitch) {
		return true
	}
	var scratch [2 * maxDisambiguation]byte
	depth := 0
	opening, closing := -1, -1 // places of the next braces
	for i := 0; ; {
		opening, closing = nextByte(src, i, opening, '{'), nextByte(src, i, closing, '}')
		if i = min(opening, closing); i == len(src) {
			return false
		}
		run := runLength(src, i)
		if src[i] == '}' {
			depth = max(0, depth-run/2)
			i += run
			continue
		}
		i += run
		if run >= 2 {
			if buf := scratch[:0]; depth == 0 && run == 2 && namesDisambiguation(src[i:], &buf) {
				return true
			}
			depth += run / 2
		}
	}
}

// nextByte returns the place of the next c in src from i on, len(src) without
// one. known is its answer for an earlier i, or -1: so every byte is looked at
// once, and bytes.IndexByte is some ten times as fast as bytes.IndexAny.
func nextByte(src []byte, i, known int, c byte) int {
	if known >= i {
		return known
	}
	k := bytes.IndexByte(src[i:], c)
	if k < 0 {
		return len(src)
	}
	return i + k
}

// maxDisambiguation is the longest name compared with the table, in bytes.
const maxDisambiguation = 80

// namesDisambiguation tells whether a template whose text begins with b is
// one that marks a disambiguation page.
func namesDisambiguation(b []byte, scratch *[]byte) bool {
	end := bytes.IndexAny(b[:min(len(b), maxDisambiguation)], "|}\n<")
	if end < 0 {
		return false
	}
	return disambiguations[string(fold(scratch, trimSpace(b[:end])))]
}
