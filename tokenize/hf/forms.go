package hf

import (
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
)

// A form is a normalizer for one of the Unicode normalization forms.
type form struct {
	tables  *formTables
	compat  bool           // NFKD, NFKC
	compose bool           // NFC, NFKC
	same    *hfunicode.Set // characters that neither change nor combine with the one before
}

// formTables are the tables of all forms.
type formTables struct {
	canonical, compat map[rune]string // full decompositions, without Hangul syllables
	classes           map[rune]uint8  // canonical combining classes other than 0
	pairs             map[[2]rune]rune
}

// Hangul syllables, see section 3.12 of the Unicode standard.
const (
	hangulS, hangulL, hangulV, hangulT   = 0xac00, 0x1100, 0x1161, 0x11a7
	hangulLCount, hangulVCount, hangulTs = 19, 21, 28
	hangulCount                          = hangulLCount * hangulVCount * hangulTs
)

var loadForms = sync.OnceValue(func() *formTables {
	t := &formTables{canonical: hfunicode.Map("nfd"), compat: hfunicode.Map("nfkd"), classes: map[rune]uint8{}, pairs: map[[2]rune]rune{}}
	for _, name := range hfunicode.Names("ccc:") {
		class, err := strconv.ParseUint(name[len("ccc:"):], 10, 8)
		if err != nil {
			panic("BUG: Unicode tables: " + name)
		}
		for _, x := range ranges(name) {
			for c := x.First; c <= x.Last; c++ {
				t.classes[c] = uint8(class)
			}
		}
	}
	for c, two := range hfunicode.Map("compose") {
		pair := []rune(two)
		t.pairs[[2]rune{pair[0], pair[1]}] = c
	}
	return t
})

var forms struct {
	sync.Mutex
	made map[string]*form
}

// formOf returns the normalizer NFC, NFD, NFKC or NFKD.
func formOf(name string) *form {
	forms.Lock()
	defer forms.Unlock()
	if forms.made == nil {
		forms.made = map[string]*form{}
	}
	f := forms.made[name]
	if f == nil {
		f = newForm(name)
		forms.made[name] = f
	}
	return f
}

func newForm(name string) *form {
	t := loadForms()
	f := &form{tables: t, compat: name[:3] == "NFK", compose: name[len(name)-1] == 'C'}
	var changed []hfunicode.Range
	add := func(first, last rune) { changed = append(changed, hfunicode.Range{First: first, Last: last}) }
	for c := range t.classes {
		add(c, c)
	}
	decompositions := []map[rune]string{t.canonical}
	if f.compat {
		decompositions = append(decompositions, t.compat)
	}
	for _, d := range decompositions {
		for c := range d {
			if !f.compose || string(f.slow(nil, string(c))) != string(c) {
				add(c, c)
			}
		}
	}
	if f.compose {
		for pair := range t.pairs {
			add(pair[1], pair[1])
		}
		add(hangulV, hangulV+hangulVCount-1)
		add(hangulT+1, hangulT+hangulTs-1)
	} else {
		add(hangulS, hangulS+hangulCount-1)
	}
	f.same = hfunicode.NewSet(hfunicode.Of(changed...).Not())
	return f
}

func (f *form) normalize(b *budget, text string, zero int) (string, int) {
	var out []byte
	done, newZero := 0, zero // out has the result for text[:done]
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if f.same.Has(r) {
			at += size
			continue
		}
		// Normalize from the character before, which may combine with this one, up to the
		// next character that does not change.
		start := at
		if f.compose && at > done {
			_, before := utf8.DecodeLastRuneInString(text[:at])
			start -= before
		}
		for at += size; at < len(text); at += size {
			if r, size = utf8.DecodeRuneInString(text[at:]); f.same.Has(r) {
				break
			}
		}
		out = append(out, text[done:start]...)
		first := len(out)
		out = f.slow(out, text[start:at])
		if start == 0 && zero > 0 && len(out) > first {
			_, newZero = utf8.DecodeRune(out)
		}
		done = at
	}
	if done == 0 {
		return text, zero
	}
	out = append(out, text[done:]...)
	b.grow(len(out) - len(text))
	return string(out), newZero
}

// slow appends the normalized form of text, by the algorithm of the standard.
func (f *form) slow(dst []byte, text string) []byte {
	var chars []rune
	for _, c := range text {
		chars = f.decompose(chars, c)
	}
	for i := 0; i < len(chars); i++ {
		end := i
		for end < len(chars) && f.tables.classes[chars[end]] != 0 {
			end++
		}
		slices.SortStableFunc(chars[i:end], func(a, b rune) int { return int(f.tables.classes[a]) - int(f.tables.classes[b]) })
		i = max(i, end-1)
	}
	if f.compose {
		chars = f.composed(chars)
	}
	for _, c := range chars {
		dst = utf8.AppendRune(dst, c)
	}
	return dst
}

func (f *form) decompose(dst []rune, c rune) []rune {
	if hangulS <= c && c < hangulS+hangulCount {
		s := c - hangulS
		dst = append(dst, hangulL+s/(hangulVCount*hangulTs), hangulV+s%(hangulVCount*hangulTs)/hangulTs)
		if t := s % hangulTs; t != 0 {
			dst = append(dst, hangulT+t)
		}
		return dst
	}
	d, ok := "", false
	if f.compat {
		d, ok = f.tables.compat[c]
	}
	if !ok {
		d, ok = f.tables.canonical[c]
	}
	if !ok {
		return append(dst, c)
	}
	return append(dst, []rune(d)...)
}

// composed applies canonical composition, in place, to characters that are decomposed and
// ordered.
func (f *form) composed(chars []rune) []rune {
	out := chars[:0]
	starter := -1 // index of the last starter in out; -1 if none
	last := 0     // class of the previous character after the starter; 0 if there is none
	for _, c := range chars {
		class := int(f.tables.classes[c])
		if starter >= 0 && (last < class || last == 0 && len(out) == starter+1) {
			if both, ok := f.pair(out[starter], c); ok {
				out[starter] = both
				continue
			}
		}
		if class == 0 {
			starter = len(out)
		}
		last = class
		out = append(out, c)
	}
	return out
}

func (f *form) pair(a, b rune) (rune, bool) {
	switch {
	case hangulL <= a && a < hangulL+hangulLCount && hangulV <= b && b < hangulV+hangulVCount:
		return hangulS + ((a-hangulL)*hangulVCount+b-hangulV)*hangulTs, true
	case hangulS <= a && a < hangulS+hangulCount && (a-hangulS)%hangulTs == 0 && hangulT < b && b < hangulT+hangulTs:
		return a + b - hangulT, true
	}
	c, ok := f.tables.pairs[[2]rune{a, b}]
	return c, ok
}
