package learn

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikihtml"
)

// A Pair is a use of a template and the text that a page shows for it.
type Pair struct {
	Call string `json:"call"` // wikitext
	Text string `json:"text"`
	Uses int64  `json:"uses"`
	Page string `json:"page"` // ID of a page with the pair, the smallest ID

	hash uint64
}

func comparePairs(a, b Pair) int {
	return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.Call, b.Call), strings.Compare(a.Text, b.Text))
}

// samplePairs is the maximum number of pairs kept for one template, maxPairs the
// maximum for all templates together.
const (
	samplePairs = 64
	maxPairs    = 200_000
)

// A key names a template.
type key struct{ wiki, name string }

func compareKeys(a, b key) int {
	return cmp.Or(strings.Compare(a.wiki, b.wiki), strings.Compare(a.name, b.name))
}

// An entry holds the uses of one template.
type entry struct {
	uses  int64
	pairs []Pair // the pairs with the smallest hashes, sorted by hash
}

// A Table collects uses of templates in bounded memory. The result does not depend on
// the order in which uses are added. Add is safe for concurrent use, the other methods
// are not.
type Table struct {
	mu       sync.Mutex
	entries  map[key]*entry
	langs    map[string]string // language of each wiki
	sample   int               // maximum number of pairs kept for a template
	pairs    int               // number of pairs kept for all templates
	maxPairs int
	cut      uint64 // templates are kept if the hash of their name is below cut; 0: all are kept
	unkept   int64  // uses of the templates that are not kept
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{entries: map[key]*entry{}, langs: map[string]string{}, sample: samplePairs, maxPairs: maxPairs}
}

// Add adds a use of a template. It keeps no reference to u.
func (t *Table) Add(u *wikihtml.Transclusion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lang, ok := t.langs[u.Wiki]; !ok || u.Lang != "" && (lang == "" || u.Lang < lang) {
		t.langs[strings.Clone(u.Wiki)] = strings.Clone(u.Lang)
	}
	k := key{u.Wiki, u.Name}
	if t.cut != 0 && k.hash() >= t.cut {
		t.unkept++
		return
	}
	e := t.entries[k]
	if e == nil {
		e = &entry{}
		t.entries[key{strings.Clone(u.Wiki), strings.Clone(u.Name)}] = e
	}
	e.uses++
	t.pairs += e.add(Pair{Call: u.Call, Text: u.Text, Uses: 1, Page: u.Page, hash: xxhash.Sum64String(u.Call + "\x00" + u.Text)}, t.sample)
	for t.pairs > t.maxPairs {
		t.shrink()
	}
}

// HasWikiOf reports whether the table is empty or any line of the file applies to a
// wiki of the table.
func (t *Table) HasWikiOf(f *rendering.File) bool {
	for wiki, lang := range t.langs {
		if f.HoldsFor(lang, wiki) {
			return true
		}
	}
	return len(t.langs) == 0
}

func (k key) hash() uint64 { return max(1, xxhash.Sum64String(k.wiki+"\x00"+k.name)) }

// add adds a pair and returns by how much the number of pairs grew.
func (e *entry) add(p Pair, sample int) int {
	at, found := slices.BinarySearchFunc(e.pairs, p, comparePairs)
	switch {
	case found:
		e.pairs[at].Uses += p.Uses
		if p.Page < e.pairs[at].Page {
			e.pairs[at].Page = strings.Clone(p.Page)
		}
		return 0
	case at >= sample:
		return 0
	}
	p.Call, p.Text, p.Page = strings.Clone(p.Call), strings.Clone(p.Text), strings.Clone(p.Page)
	e.pairs = slices.Insert(e.pairs, at, p)
	if len(e.pairs) > sample {
		e.pairs = e.pairs[:sample]
		return 0
	}
	return 1
}

// shrink halves the maximum number of pairs per template. If the maximum is already
// one, shrink drops the templates in the upper half of the range of name hashes. A pair
// or template that remains at the end was never dropped, so its counts are exact.
func (t *Table) shrink() {
	if t.sample > 1 {
		t.sample /= 2
		t.pairs = 0
		for _, e := range t.entries {
			e.pairs = slices.Clip(slices.Clone(e.pairs[:min(len(e.pairs), t.sample)]))
			t.pairs += len(e.pairs)
		}
		return
	}
	if t.cut == 0 {
		t.cut = 1 << 63
	} else {
		t.cut /= 2
	}
	for k, e := range t.entries {
		if k.hash() >= t.cut {
			t.unkept += e.uses
			t.pairs -= len(e.pairs)
			delete(t.entries, k)
		}
	}
}

// A Template is a template in a table, with its uses.
type Template struct {
	Wiki  string `json:"wiki"`
	Name  string `json:"name"`
	Uses  int64  `json:"uses"`
	Pairs []Pair `json:"pairs"` // sample of at most 64 pairs, sorted by call and text
}

// Templates returns the templates, sorted by wiki and name.
func (t *Table) Templates() []Template {
	var list []Template
	for k, e := range t.entries {
		pairs := slices.Clone(e.pairs)
		slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(strings.Compare(a.Call, b.Call), strings.Compare(a.Text, b.Text)) })
		list = append(list, Template{k.wiki, k.name, e.uses, pairs})
	}
	slices.SortFunc(list, func(a, b Template) int { return compareKeys(key{a.Wiki, a.Name}, key{b.Wiki, b.Name}) })
	return list
}
