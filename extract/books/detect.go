package books

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// The encoding of a text without a mark is found from its bytes above 0x7F: each encoding
// with one byte for a character is tried with the letters of each of its languages, and
// the pair to which the bytes are least surprising wins, if it explains nearly all of them
// and no other gives a similarly likely but different text. Encodings with two bytes must
// decode without an error and give the most frequent characters of their language.

// A singleByte is an encoding with one byte for a character, and the languages written in it.
type singleByte struct {
	name  string
	table *charmap.Charmap
	langs []string // keys of alphabets
}

var (
	western  = []string{"en", "de", "fr", "es", "pt", "it", "sv", "da", "is", "ca", "nl", "et"}
	central  = []string{"pl", "cs", "sk", "hu", "hr", "ro"}
	cyrillic = []string{"ru", "uk", "bg", "sr"}

	singleBytes = []singleByte{
		{nameWestern, charmap.Windows1252, western},
		{"macintosh", charmap.Macintosh, western},
		{"IBM850", charmap.CodePage850, western},
		{"windows-1250", charmap.Windows1250, central},
		{"ISO-8859-2", charmap.ISO8859_2, central},
		{"windows-1254", charmap.Windows1254, []string{"tr"}},
		{"windows-1257", charmap.Windows1257, []string{"lt", "lv", "et"}},
		{"windows-1251", charmap.Windows1251, cyrillic},
		{"KOI8-R", charmap.KOI8R, []string{"ru"}},
		{"KOI8-U", charmap.KOI8U, []string{"uk"}},
		{"IBM866", charmap.CodePage866, []string{"ru"}},
		{"ISO-8859-5", charmap.ISO8859_5, cyrillic},
		{"windows-1253", charmap.Windows1253, []string{"el"}},
		{"ISO-8859-7", charmap.ISO8859_7, []string{"el"}},
	}
)

// nameWestern is the encoding of a text that looks Western European.
const nameWestern = "windows-1252"

// alphabets are the letters of languages beyond ASCII. In alphabets of letters that are all
// beyond ASCII, they are sorted by how often they are used; in the others, they are not. The
// order is from general knowledge, not counted in a corpus; the tests hold what follows of it.
var alphabets = map[string]string{
	"en": "éèêëçñïöüáàâäóôæœíîåø", "de": "äöüßé", "fr": "éèêëàâçîïôùûüÿœæ", "es": "áéíñóúü", "pt": "áâãàçéêíóôõúü",
	"it": "àèéìíîòóùú", "sv": "åäöé", "da": "åæøé", "is": "áéíóúýþæöð", "ca": "àçéèíïóòúü", "nl": "éèëïóöü", "et": "äõöüšž",
	"pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "hu": "áéíóöőúüű", "hr": "čćđšž", "ro": "ăâîşţ",
	"tr": "çğıöşüâîû", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž",
	"ru": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", "uk": "оанівтреслкдумпязьгбчйхюцїжшєщфґ", "bg": "аоеинтрсвлкдпмзугяъбчцжщхйшфюь", "sr": "аоиеунтјрсквдлмпгзбњчћжшљцхђфџ",
	"el": "αοιετσνηυρπκμλςωδγχθφβξζψάέήίόύώϊϋΐΰ",
}

// Costs, in natural logarithms of probabilities, of what a byte stands for.
const (
	costMark      = 2   // a mark of prose
	costSymbol    = 4   // another symbol
	costLetter    = 7   // a letter of another language
	costForeign   = 9   // what is in no prose, or no character
	costMixedCase = 4   // a capital after a small letter
	costDigit     = 5   // a letter beside a digit
	costCapital   = 0.5 // another capital
)

// Limits of a guess.
const (
	minHigh       = 10   // bytes above 0x7F without which nothing is guessed
	maxForeign    = 0.02 // fraction of them that may be foreign
	minAdvantage  = 0.5  // cost by which another text must be less likely, for each byte that it reads differently
	minEvidence   = 12   // and for all of these bytes together
	equallyLikely = 3    // difference of costs that says nothing
	judgedSize    = 64 << 10
	sampleSize    = 256 << 10
)

// A guess is what bytes stand for in an encoding and a language.
type guess struct {
	name    string
	table   *charmap.Charmap
	cost    float64 // mean of the bytes above 0x7F
	foreign float64 // fraction of them
}

// proseMarks are the marks of prose beyond ASCII.
const proseMarks = "‘’“”‚„«»–—…·°§\u00a0"

// ranks returns the cost of each letter of a language, small and capital.
func ranks(lang string) map[rune]float64 {
	letters := []rune(alphabets[lang])
	costs := map[rune]float64{}
	ranked := len(letters) > 28 // all letters of the language, most frequent first
	sum := 0.0
	for i := range letters {
		sum += math.Exp(-float64(i) / 9)
	}
	for i, r := range letters {
		cost := math.Log(float64(len(letters)))
		if ranked {
			cost = math.Log(sum) + float64(i)/9
		}
		costs[r] = cost
		costs[unicode.ToUpper(r)] = cost + costCapital
	}
	if lang == "tr" {
		costs['İ'] = costs['ı']
	}
	delete(costs, 'I')
	return costs
}

// judge returns the guess that sample is in the encoding and language.
func judge(sample []byte, s singleByte, lang string) guess {
	costs := ranks(lang)
	beyond, foreign, total := 0, 0, 0.0
	before := ' '
	for i, c := range sample {
		r := s.table.DecodeByte(c)
		if c >= utf8.RuneSelf {
			beyond++
			cost, known := costs[r]
			switch {
			case known:
				if unicode.IsUpper(r) && unicode.IsLower(before) {
					cost += costMixedCase
				}
				if before >= '0' && before <= '9' || i+1 < len(sample) && sample[i+1] >= '0' && sample[i+1] <= '9' {
					cost += costDigit
				}
			case strings.ContainsRune(proseMarks, r):
				cost = costMark
			case r != utf8.RuneError && (unicode.IsPunct(r) || unicode.Is(unicode.Sc, r)):
				cost = costSymbol
			case unicode.IsLetter(r):
				cost = costLetter
			default:
				cost = costForeign
				foreign++
			}
			total += cost
		} else if before >= utf8.RuneSelf && c >= 'A' && c <= 'Z' && unicode.IsLower(before) {
			total += costMixedCase
		}
		before = r
	}
	return guess{s.name, s.table, total / float64(max(1, beyond)), float64(foreign) / float64(max(1, beyond))}
}

// guessSingle returns the most likely encoding with one byte for a character. ok is false if
// there is none, or if two different texts are similarly likely. maybeWestern reports
// whether Windows-1252 gives the same text, or is equally likely.
func guessSingle(sample []byte) (best guess, ok, maybeWestern bool) {
	var all []guess
	for _, s := range singleBytes {
		for _, lang := range s.langs {
			all = append(all, judge(sample, s, lang))
		}
	}
	best = all[0]
	for _, g := range all[1:] {
		if g.cost < best.cost {
			best = g
		}
	}
	ok = best.foreign <= maxForeign
	for _, g := range all {
		n := differing(sample, g.table, best.table)
		near := n == 0 || (g.cost-best.cost)*float64(highBytes(sample)) < max(minEvidence, minAdvantage*float64(n))
		ok = ok && (n == 0 || !near)
		maybeWestern = maybeWestern || g.name == nameWestern && (n == 0 || (g.cost-best.cost)*float64(highBytes(sample)) < equallyLikely)
	}
	return best, ok, maybeWestern
}

// highBytes returns the number of bytes above 0x7F.
func highBytes(b []byte) (n int) {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// differing returns the number of bytes that two encodings read differently.
func differing(b []byte, x, y *charmap.Charmap) (n int) {
	if x == y {
		return 0
	}
	var differ [256]bool
	for c := range differ {
		differ[c] = c >= utf8.RuneSelf && x.DecodeByte(byte(c)) != y.DecodeByte(byte(c))
	}
	for _, c := range b {
		if differ[c] {
			n++
		}
	}
	return n
}

// A multiByte is an encoding of an East Asian language, the characters that are the most
// frequent in the language, and the least share of the characters beyond ASCII that they
// have in prose. They have less than a quarter of it in a text that is in another encoding.
type multiByte struct {
	name     string
	encoding encoding.Encoding
	frequent string
	share    float64
}

const kana = "のにはをたがでてとしれさいるもなかっらりうこあきくまよそえせけだ"

var multiBytes = []multiByte{
	{"Shift_JIS", japanese.ShiftJIS, kana, 0.15},
	{"EUC-JP", japanese.EUCJP, kana, 0.15},
	{"GB18030", simplifiedchinese.GB18030, "的一是不了在有人我他这中大来上个国到说们为和时地年", 0.06},
	{"Big5", traditionalchinese.Big5, "的一是不了在有人我他這中大來上個國到說們為和時地年", 0.06},
	{"EUC-KR", korean.EUCKR, "이다는을에의가고하지로은를기한리그도자나사대어인서시", 0.12},
}

// guessMulti returns the encoding with two bytes for a character in which a sample is. ok is
// false if there is none, or more than one.
func guessMulti(sample []byte) (best multiByte, ok bool) {
	found := 0
	for _, m := range multiBytes {
		text, err := m.encoding.NewDecoder().Bytes(sample)
		if err != nil {
			continue
		}
		beyond, frequent, wrong := 0, 0, 0
		for i, r := range string(text) {
			switch {
			case r == utf8.RuneError && i >= len(text)-12: // a character that the sample cuts
			case r == utf8.RuneError, unicode.Is(unicode.Co, r), r >= 0x80 && r < 0xA0, r >= 0xFF61 && r <= 0xFF9F:
				wrong++
			case r >= utf8.RuneSelf:
				beyond++
				if strings.ContainsRune(m.frequent, r) {
					frequent++
				}
			}
		}
		if beyond >= minHigh && wrong*1000 <= beyond && float64(frequent) >= m.share*float64(beyond) {
			best = m
			found++
		}
	}
	return best, found == 1
}

// encodingOf returns the encoding with a name of the WHATWG Encoding Standard, or of
// singleBytes; nil if the name is "".
func encodingOf(name string) (encoding.Encoding, error) {
	for _, s := range singleBytes {
		if strings.EqualFold(name, s.name) {
			return s.table, nil
		}
	}
	if name == "" {
		return nil, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: want a name such as windows-1251, koi8-r, shift_jis or gb18030", name)
	}
	return e, nil
}

// A detected encoding.
type detected struct {
	name     string            // the likely encoding; "" if nothing is known
	encoding encoding.Encoding // nil if it is not certain enough
	western  bool              // the text may be in Windows-1252
}

// detect finds the encoding of a text that is not UTF-8, by the bytes from the first above
// 0x7F on, at most judgedSize.
func detect(sample []byte) detected {
	first := bytes.IndexFunc(sample, func(r rune) bool { return r >= utf8.RuneSelf })
	sample = sample[max(0, first):]
	sample = sample[:min(len(sample), judgedSize)]
	if highBytes(sample) < minHigh {
		return detected{western: true}
	}
	if m, ok := guessMulti(sample); ok {
		return detected{name: m.name, encoding: m.encoding}
	}
	g, ok, western := guessSingle(sample)
	d := detected{name: g.name, western: western}
	if ok && g.name != nameWestern {
		d.encoding = g.table
	}
	return d
}
