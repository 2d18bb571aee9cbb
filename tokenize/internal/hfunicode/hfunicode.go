// Package hfunicode holds the Unicode properties that Hugging Face's
// tokenizers use.
//
// The library mixes the Unicode versions of several Rust crates and of Oniguruma, so the
// tables were derived from the library's output; see probe.py. They do not depend on the Go
// version. A property is a [Set] and has a name:
//
//	gc:Lu            general categories, as Oniguruma has them
//	prop:Alphabetic  binary properties of Oniguruma
//	script:Han       scripts of Oniguruma
//	onig:w, s, d     \w, \s and \d of Oniguruma
//	rust:...         what the library's own code takes for white space, numeric,
//	                 punctuation, a word character, a control character (other)
//	                 or an accent (nonspacing, combining)
//	scripts:...      scripts of the UnicodeScripts pre-tokenizer
//	gcb:...          classes of grapheme clusters
//	ccc:...          canonical combining classes
package hfunicode

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed tables.txt
var tables string

// Names returns the names of all sets whose name begins with prefix, in the order of the
// tables.
func Names(prefix string) (names []string) {
	for line := range strings.Lines(tables) {
		if rest, ok := strings.CutPrefix(line, "set "+prefix); ok {
			name, _, _ := strings.Cut(strings.TrimSuffix(rest, "\n"), " ")
			names = append(names, prefix+name)
		}
	}
	return names
}

// lookup returns the fields of the line in tables for a set or map.
func lookup(kind, name string) ([]string, bool) {
	start := kind + " " + name + " "
	i := 0
	if !strings.HasPrefix(tables, start) {
		i = strings.Index(tables, "\n"+start) + 1
		if i == 0 {
			return nil, false
		}
	}
	line, _, _ := strings.Cut(tables[i+len(start):], "\n")
	return strings.Fields(line), true
}

var cache struct {
	sync.Mutex
	ranges map[string]Ranges
	sets   map[string]*Set
}

// Lookup returns the ranges of a property. ok is false if there is no property with this
// name.
func Lookup(name string) (r Ranges, ok bool) {
	cache.Lock()
	defer cache.Unlock()
	if r, ok = cache.ranges[name]; ok {
		return r, true
	}
	fields, ok := lookup("set", name)
	if !ok {
		return nil, false
	}
	for _, f := range fields {
		first, last, two := strings.Cut(f, "-")
		if !two {
			last = first
		}
		r = append(r, Range{code(first), code(last)})
	}
	if cache.ranges == nil {
		cache.ranges = map[string]Ranges{}
	}
	cache.ranges[name] = r
	return r, true
}

// Get returns the set of a property. It panics if there is no property with this name.
func Get(name string) *Set {
	r, ok := Lookup(name)
	if !ok {
		panic("BUG: no Unicode property " + name)
	}
	cache.Lock()
	defer cache.Unlock()
	if cache.sets == nil {
		cache.sets = map[string]*Set{}
	}
	s := cache.sets[name]
	if s == nil {
		s = NewSet(r)
		cache.sets[name] = s
	}
	return s
}

// Map returns a mapping of characters to strings, such as "rust:lower". It panics if there
// is no mapping with this name.
func Map(name string) map[rune]string {
	fields, ok := lookup("map", name)
	if !ok {
		panic("BUG: no Unicode mapping " + name)
	}
	m := make(map[rune]string, len(fields))
	for _, f := range fields {
		from, to, _ := strings.Cut(f, "=")
		var b strings.Builder
		for c := range strings.SplitSeq(to, ",") {
			b.WriteRune(code(c))
		}
		m[code(from)] = b.String()
	}
	return m
}

// code parses a code point of the tables.
func code(hex string) rune {
	n, err := strconv.ParseUint(hex, 16, 21)
	if err != nil {
		panic("BUG: Unicode tables: " + err.Error())
	}
	return rune(n)
}
