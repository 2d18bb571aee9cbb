package wikitext

import (
	"bytes"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Words of all languages that MediaWiki supports are in the same tables. A word of one
// language is hardly ever an ordinary title in another, and pages copied between wikis
// contain foreign words.
//
//go:generate go run ./internal/genwords mediawiki

// A word is the meaning of the part of a link target before its first colon, such as
// "File" or "de".
type word uint8

const (
	wordOther    word = iota
	wordFile          // dropped with its caption
	wordMedia         // a link to a file: shows its label
	wordCategory      // dropped
	wordLanguage      // link to the same page in another language: dropped
)

// maxWord is the maximum length, in bytes, of a namespace, behaviour switch or
// redirect word.
const maxWord = 96

// namespaceOf returns the meaning of the part of a link target before its first colon.
// It uses scratch as a buffer.
func namespaceOf(target []byte, scratch *[]byte) word {
	k := bytes.IndexByte(target, ':')
	if k <= 0 || k > maxWord {
		return wordOther
	}
	name := trimSpace(fold(scratch, target[:k]))
	if w := namespaceWords[string(name)]; w != wordOther {
		return w
	}
	if languageCodes[string(name)] {
		return wordLanguage
	}
	return wordOther
}

// isShownNamespace reports whether name, in lower case, is the English name of a
// namespace to which links are shown.
func isShownNamespace(name []byte) bool {
	switch string(name) {
	case "talk", "user", "user talk", "project", "wikipedia", "template", "help", "special", "mediawiki", "portal", "draft", "module":
		return true
	}
	return false
}

// fold returns b in lower case, with underscores replaced by spaces. The result is in
// scratch and is valid until scratch is used again.
func fold(scratch *[]byte, b []byte) []byte {
	out := (*scratch)[:0]
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
			i++
		case c == '_':
			out = append(out, ' ')
			i++
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				out = append(out, c)
			} else {
				out = utf8.AppendRune(out, toLower(r))
			}
			i += n
		}
	}
	*scratch = out
	return out
}

// toLower is unicode.ToLower. Between the letters that have small forms lie whole scripts
// that have none, whose text is not searched for in Unicode's table.
func toLower(r rune) rune {
	if 0x590 <= r && r < 0x10a0 || 0x2e80 <= r && r < 0xa640 || 0xabc0 <= r && r < 0xff21 {
		return r
	}
	return unicode.ToLower(r)
}

// switchAt returns the length of the behaviour switch, such as __NOTOC__, at the start
// of b; 0 if there is none. It uses scratch as a buffer.
func switchAt(b []byte, scratch *[]byte) int {
	if len(b) < 5 || b[1] != '_' || b[2] == '_' {
		return 0
	}
	k := bytes.Index(b[2:min(len(b), maxWord+4)], []byte("__"))
	if k <= 0 || !switchWords[string(fold(scratch, b[2:2+k]))] {
		return 0
	}
	return k + 4
}

// IsRedirect reports whether the page with the wikitext src is a redirect. A
// redirect begins with "#", the word for redirect in any language, an optional
// colon, and a link.
func IsRedirect(src []byte) bool {
	b := bytes.TrimLeft(src[:min(len(src), 1024)], " \t\r\n")
	switch {
	case bytes.HasPrefix(b, []byte("#")):
		b = b[1:]
	case bytes.HasPrefix(b, []byte("＃")):
		b = b[len("＃"):]
	default:
		return false
	}
	b = bytes.TrimLeft(b, " ")
	k := bytes.IndexAny(b[:min(len(b), maxWord)], "[:\n\t {")
	if k <= 0 {
		return false
	}
	rest := b[k:]
	if rest[0] == ' ' || rest[0] == '\t' || rest[0] == ':' || rest[0] == '\n' {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		rest = bytes.TrimPrefix(rest, []byte(":"))
		rest = bytes.TrimLeft(rest, " \t\r\n")
	}
	if !bytes.HasPrefix(rest, []byte("[[")) {
		return false
	}
	var scratch [maxWord * 2]byte
	buf := scratch[:0]
	return redirectWords[string(fold(&buf, b[:k]))]
}

// backMatter are the headings, in lower case, of sections at the end of an
// article that hold no prose, in the languages of the largest Wikipedias.
var backMatter = sync.OnceValue(func() map[string]bool { return makeSet(backMatterWords[:]...) })

var backMatterWords = [...]string{
	// en
	"references", "external links", "external link", "see also", "further reading", "notes", "notes and references",
	"references and notes", "footnotes", "citations", "sources", "bibliography", "works cited", "general references",
	"general sources", "cited sources", "cited works", "notes and citations", "citations and references",
	"explanatory notes", "additional reading", "references and further reading", "sources and further reading",
	"bibliography and further reading", "gallery", "image gallery", "related pages", "other websites",
	// de
	"einzelnachweise", "weblinks", "siehe auch", "literatur", "quellen", "anmerkungen", "belege", "fußnoten",
	"weiterführende literatur", "einzelnachweise und anmerkungen", "anmerkungen und einzelnachweise",
	// fr
	"notes et références", "références", "liens externes", "lien externe", "voir aussi", "articles connexes",
	"article connexe", "bibliographie", "annexes", "notes", "sources",
	// es, pt, it, ca
	"referencias", "enlaces externos", "véase también", "bibliografía", "notas", "notas y referencias", "fuentes",
	"referências", "ligações externas", "ver também", "bibliografia", "leitura adicional", "notas e referências",
	"note", "collegamenti esterni", "voci correlate", "altri progetti", "referències", "enllaços externs", "vegeu també",
	// nl, sv, no, da, fi, pl, cs, hu, ro, tr, vi, id
	"referenties", "externe links", "externe link", "zie ook", "literatuur", "bronnen", "noten", "bronnen, noten en/of referenties",
	"referenser", "externa länkar", "se även", "källor", "noter", "litteratur",
	"referanser", "eksterne lenker", "se også", "kilder", "fotnoter", "eksterne henvisninger",
	"vanjske poveznice", "vanjski linkovi", "također pogledajte", "reference i bilješke", // hr, bs
	"lähteet", "aiheesta muualla", "katso myös", "viitteet", "kirjallisuutta",
	"przypisy", "linki zewnętrzne", "zobacz też", "bibliografia", "uwagi",
	"odkazy", "externí odkazy", "související články", "literatura", "reference", "poznámky",
	"jegyzetek", "külső hivatkozások", "további információk", "lásd még", "források",
	"legături externe", "vezi și", "referințe", "kaynakça", "dış bağlantılar", "ayrıca bakınız", "notlar",
	"tham khảo", "liên kết ngoài", "xem thêm", "chú thích", "referensi", "pranala luar", "lihat pula",
	// ru, uk, bg, sr
	"примечания", "ссылки", "литература", "см. также", "источники", "примітки", "посилання", "див. також", "література",
	"джерела", "външни препратки", "източници", "бележки", "вижте също", "референце", "спољашње везе", "види још",
	// el, ar, he, fa
	"παραπομπές", "εξωτερικοί σύνδεσμοι", "δείτε επίσης", "πηγές", "βιβλιογραφία", "σημειώσεις",
	"مراجع", "المراجع", "وصلات خارجية", "انظر أيضًا", "انظر أيضا", "الهوامش", "هوامش", "مصادر",
	"הערות שוליים", "קישורים חיצוניים", "ראו גם", "לקריאה נוספת", "منابع", "پیوند به بیرون", "جستارهای وابسته", "پانویس",
	// ja, zh, ko
	"脚注", "関連項目", "外部リンク", "参考文献", "注釈", "出典", "注釈・出典", "関連文献", "参考資料",
	"参考", "外部链接", "外部連結", "外部鏈接", "参见", "參見", "参看", "參看", "參考文獻", "參考資料", "注释", "注釋", "註釋",
	"参考来源", "參考來源", "延伸阅读", "延伸閱讀", "相关条目", "相關條目", "腳註", "脚註", "備註", "备注", "参考资料",
	"같이 보기", "각주", "외부 링크", "참고 문헌", "참고 자료", "주석", "함께 보기",
}

// minSubjectProse is the minimum size, in bytes, of the prose in a section that is not back matter
// although its heading may be a subject: about three sentences.
const minSubjectProse = 300

func makeSet(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// maxHeading is the maximum length, in bytes, of a heading that is looked up in
// backMatter.
const maxHeading = 64

// isBackMatter reports whether a heading is that of a section without prose at the end of an
// article. mayBeSubject reports that it is a word for a subject, too.
func isBackMatter(heading []byte, scratch *[]byte) (ok, mayBeSubject bool) {
	if len(heading) > maxHeading {
		return false, false
	}
	name := bytes.TrimRight(fold(scratch, heading), ": ")
	return backMatter()[string(name)], isSubject(name)
}

// isSubject reports whether a heading in backMatter may also name what an article is about:
// a section of prose about literature or sources of salt, not a list.
func isSubject(name []byte) bool {
	switch string(name) {
	case "literatur", "literature", "litteratur", "literatuur", "literatura", "literatūra", "kirjallisuutta", "литература", "література",
		"gallery", "sources", "källor", "quellen", "works":
		return true
	}
	return false
}

// IsLanguageCode reports whether links to the same page in another language begin with the
// code.
func IsLanguageCode(code string) bool { return languageCodes[code] }

// isInterwiki reports whether titles in another wiki begin with a prefix: the code of a
// language, or the name of a project on Wikimedia's wikis.
func isInterwiki(prefix []byte, scratch *[]byte) bool {
	switch name := string(trimSpace(fold(scratch, prefix))); name {
	case "w", "wikipedia", "wikt", "wiktionary", "s", "wikisource", "b", "wikibooks", "q", "wikiquote", "n", "wikinews", "v", "wikiversity", "voy", "wikivoyage",
		"c", "commons", "d", "wikidata", "f", "wikifunctions", "m", "meta", "mw", "species", "wikispecies", "phab":
		return true
	default:
		return languageCodes[name]
	}
}

// isProse reports whether a section, given as source, is text rather than a list: the
// lines that begin with a letter or a link have at least minSubjectProse bytes, and more than the
// other lines.
func isProse(section []byte) bool {
	prose, other := 0, 0
	for line := range bytes.Lines(section) {
		first, _ := utf8.DecodeRune(line)
		if unicode.IsLetter(first) || first == '[' || first == '\'' {
			prose += len(line)
		} else {
			other += len(line)
		}
	}
	return prose >= minSubjectProse && prose > other
}

// TemplateName returns a template's name without its namespace, in the form that
// package rendering uses to compare names: in lower case, with underscores replaced by
// spaces.
func TemplateName(name string) string {
	var scratch []byte
	return string(trimSpace(fold(&scratch, []byte(name))))
}
