package dedup

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A corpus is texts of made-up words, some of them planted copies of others.
type corpus struct {
	texts  []string
	copyOf map[int]int // number of a planted copy → of what it was made from
	near   map[int]int // texts that are alike, but less than the threshold
}

// lexicon is words of syllables, unevenly frequent.
type lexicon struct {
	random *rand.Rand
	words  []string
}

func newLexicon(seed uint64) *lexicon {
	l := &lexicon{random: rand.New(rand.NewPCG(seed, 7))}
	syllables := []string{"ka", "lo", "mi", "ter", "ran", "dun", "vel", "os", "pri", "ten", "sha", "bor", "e", "una"}
	for range 5000 {
		word := ""
		for range 1 + l.random.IntN(4) {
			word += syllables[l.random.IntN(len(syllables))]
		}
		l.words = append(l.words, word)
	}
	return l
}

func (l *lexicon) word() string {
	r := l.random.Float64()
	return l.words[int(float64(len(l.words))*r*r*r)]
}

func (l *lexicon) text(words int) (text []string) {
	for range words {
		text = append(text, l.word())
	}
	return text
}

// edit returns a copy of a text whose similarity is in a range, by exact count.
func (l *lexicon) edit(text []string, from, to float64) []string {
	for {
		edited := append([]string(nil), text...)
		for range 10_000 {
			switch s := slowJaccard(text, edited, 5); {
			case s >= from && s <= to:
				return edited
			case s < from:
				edited = nil
			}
			if edited == nil {
				break
			}
			at := l.random.IntN(len(edited))
			switch l.random.IntN(3) {
			case 0:
				edited[at] = l.word()
			case 1:
				edited = append(edited[:at], edited[at+1:]...)
			case 2:
				edited = append(edited[:at], append([]string{l.word()}, edited[at:]...)...)
			}
		}
	}
}

// dress writes words with marks, capitals and lines, which do not count.
func (l *lexicon) dress(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if l.random.IntN(9) == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		b.WriteString(w)
		b.WriteString([]string{" ", " ", " ", " ", ", ", ".\n", " — "}[l.random.IntN(7)])
		if i%50 == 49 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// plant makes n texts of which so many are copies and as many again are alike
// by less, in any order.
func plant(seed uint64, n, copies, alike int) *corpus {
	l := newLexicon(seed)
	words := make([][]string, n)
	c := &corpus{copyOf: map[int]int{}, near: map[int]int{}}
	order := l.random.Perm(n)
	bases := order[copies+alike:]
	for _, i := range bases {
		words[i] = l.text(60 + l.random.IntN(400))
	}
	for k, i := range order[:copies+alike] {
		base := bases[k%len(bases)] // each at most once where there are enough
		if k < copies {
			from := 0.8 + 0.2*l.random.Float64()
			words[i] = l.edit(words[base], from, min(1, from+0.03))
			c.copyOf[i] = base
		} else {
			from := 0.3 + 0.4*l.random.Float64()
			words[i] = l.edit(words[base], from, from+0.08)
			c.near[i] = base
		}
	}
	for _, w := range words {
		c.texts = append(c.texts, l.dress(w))
	}
	return c
}

// slowJaccard counts shingles as strings.
func slowJaccard(a, b []string, n int) float64 {
	set := func(words []string) map[string]bool {
		m := map[string]bool{}
		for i := 0; i+n <= len(words); i++ {
			m[strings.Join(words[i:i+n], " ")] = true
		}
		if len(m) == 0 && len(words) > 0 {
			m[fmt.Sprint(words)] = true
		}
		return m
	}
	x, y := set(a), set(b)
	both := 0
	for s := range x {
		if y[s] {
			both++
		}
	}
	if len(x)+len(y) == 0 {
		return 0
	}
	return float64(both) / float64(len(x)+len(y)-both)
}
