// Package counts declares the counts that manifests of finished data contain. Each count is
// declared once, as a variable of the package that counts it:
//
//	var Pages = counts.Declare("pages", counts.About{Meaning: "pages of dumps"})
//
// That variable is used to add to the count and to read it:
//
//	c := counts.Counts{}
//	Pages.Add(c, 3)
//	n := Pages.Of(c)
//
// [Counts] are part of manifests and side-cars: a JSON object of names and numbers, sorted
// by name. Code refers to a count by its declaration, so a misspelt name does not compile. A
// stage registers with [Stage] the counts that its manifests may have; code that displays
// counts iterates over [OfStage].
//
// Counts are not safe for concurrent use; declarations are immutable values.
package counts

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// A Key is the name of a count.
type Key struct{ name string }

// KeyOf returns the key for a name from outside, such as from JSON. Code for one particular
// count uses its declaration instead.
func KeyOf(name string) Key { return Key{name} }

func (k Key) String() string                   { return k.name }
func (k Key) MarshalText() ([]byte, error)     { return []byte(k.name), nil }
func (k *Key) UnmarshalText(text []byte) error { k.name = string(text); return nil }

// Counts are totals by name.
type Counts map[Key]int64

// Add adds each number in other to the number of the same name in c.
func (c Counts) Add(other Counts) {
	for k, n := range other {
		c[k] += n
	}
}

// Clone returns a copy of c.
func (c Counts) Clone() Counts { return maps.Clone(c) }

// All yields the counts sorted by name.
func (c Counts) All() iter.Seq2[Key, int64] {
	return func(yield func(Key, int64) bool) {
		for _, k := range slices.SortedFunc(maps.Keys(c), func(a, b Key) int { return strings.Compare(a.name, b.name) }) {
			if !yield(k, c[k]) {
				return
			}
		}
	}
}

// A Place is a place where a count is displayed, in addition to the manifest and the
// report, which contain all counts.
type Place uint8

// Places, which may be combined.
const (
	Summary Place = 1 << iota // summary that a stage prints at its end
	Stats                     // prepare-data stats, unless the count is 0
	Card                      // dataset card, unless the count is 0
)

// Units of counts.
const (
	things Unit = iota // the things that the name of the count states
	Bytes
)

// A Unit is the unit of a count.
type Unit uint8

// About describes a count.
type About struct {
	Meaning string // description in docs/file-format.md
	Label   string // displayed name; "": the key
	Unit    Unit
	In      Place

	// Sparse counts are omitted if they are 0. So data without them keeps the bytes that it
	// had before the count was introduced.
	Sparse bool
	// Whole counts refer to all files together: they are in the totals of a manifest but
	// not in side-cars. All other counts are sums over the files.
	Whole bool
	// Family means several counts, named KEY.MEMBER.
	Family bool
}

// A Count is the declaration of a count, or of a [Family].
type Count struct {
	Key
	About
}

// Declare declares a count. Assign the result to a package variable.
func Declare(name string, about About) Count { return Count{Key{name}, about} }

// Name returns the displayed name of the count.
func (k Count) Name() string {
	if k.Label == "" {
		return k.name
	}
	return k.Label
}

// Of returns the value of the count in c.
func (k Count) Of(c Counts) int64 { return c[k.Key] }

// Add adds n to the count in c. If n is 0 and the count is sparse, it does not create an
// entry.
func (k Count) Add(c Counts, n int64) {
	if n != 0 || !k.Sparse {
		c[k.Key] += n
	}
}

// Has reports whether key is the key of this count or of a member of this family.
func (k Count) Has(key Key) bool {
	return key == k.Key || k.Family && strings.HasPrefix(key.name, k.name+".")
}

// A Family declares counts whose names differ only in a member, such as the reason of a
// reject: reject.redirect.
type Family[Member ~string] struct{ Count }

// DeclareFamily declares a family.
func DeclareFamily[Member ~string](name string, about About) Family[Member] {
	about.Family = true
	return Family[Member]{Declare(name, about)}
}

// Member returns the key of a member of the family.
func (f Family[Member]) Member(m Member) Key { return Key{f.name + "." + string(m)} }

// AddAll adds the count of each member to c.
func (f Family[Member]) AddAll(c Counts, members map[Member]int64) {
	for m, n := range members {
		c[f.Member(m)] += n
	}
}

// Members yields the members whose count in c is above 0, sorted by name.
func (f Family[Member]) Members(c Counts) iter.Seq2[Member, int64] {
	return func(yield func(Member, int64) bool) {
		for k, n := range c.All() {
			if m, ok := strings.CutPrefix(k.name, f.name+"."); ok && n > 0 && !yield(Member(m), n) {
				return
			}
		}
	}
}

// stages holds the counts of each stage, in display order.
var stages = map[string][]Count{}

// Stage registers the counts that the manifests of a stage may have, in display order. It
// panics if two have the same name. It is for init functions.
func Stage(name string, list []Count) {
	for i, k := range list {
		if slices.ContainsFunc(list[:i], func(o Count) bool { return o.Key == k.Key }) {
			panic("BUG: stage " + name + " has two counts named " + k.name)
		}
	}
	stages[name] = list
}

// Stages returns the names of all registered stages, sorted.
func Stages() []string { return slices.Sorted(maps.Keys(stages)) }

// Shown yields the counts of a stage that are displayed at the given place and are not 0 in
// c.
func Shown(stage string, in Place, c Counts) iter.Seq2[Count, int64] {
	return func(yield func(Count, int64) bool) {
		for _, k := range stages[stage] {
			if n := k.Of(c); n != 0 && k.In&in != 0 && !yield(k, n) {
				return
			}
		}
	}
}

// OfStage returns the counts of a stage in display order; none if the stage is not
// registered.
func OfStage(name string) []Count { return stages[name] }
