// Package counts declares what finished data counts. A count is declared once, as
// a variable of the package that counts it:
//
//	var Pages = counts.Declare("pages", counts.About{Meaning: "pages of dumps"})
//
// and is counted and read through that variable:
//
//	c := counts.Counts{}
//	Pages.Add(c, 3)
//	n := Pages.Of(c)
//
// [Counts] are part of manifests and side-cars, a JSON object of names and numbers,
// sorted by name. Only a declaration makes a [Key], so that a misspelt name does not
// compile. A stage says with [Stage] which counts its manifests may have; whoever
// shows counts walks [OfStage].
//
// Counts are not safe for concurrent use; declarations are values.
package counts

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// A Key is the name of a count.
type Key struct{ name string }

// KeyOf returns the key of a name that comes from elsewhere, such as JSON. Code that
// knows which count it means uses the declaration.
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

// A Place is where a count is shown, besides the manifest and the report, which have
// all counts.
type Place uint8

// Places, which may be combined.
const (
	Summary Place = 1 << iota // what a stage prints at its end
	Stats                     // prepare-data stats, if it is not 0
	Card                      // the dataset card, if it is not 0
)

// Units of counts.
const (
	things Unit = iota // what the name says
	Bytes
)

// A Unit is what a count is measured in.
type Unit uint8

// About describes a count.
type About struct {
	Meaning string // for docs/file-format.md
	Label   string // what it is called where it is shown; "": its name
	Unit    Unit
	In      Place

	// Sparse counts are left out where they are 0, because data from before they were
	// counted has the same bytes.
	Sparse bool
	// Whole counts are made from all files together: they are in the totals of a
	// manifest and in no side-car. All others are sums over the files.
	Whole bool
	// Family counts are several, named KEY.MEMBER.
	Family bool
}

// A Count is the declaration of a count, or of a [Family].
type Count struct {
	Key
	About
}

// Declare declares a count. Its value belongs into a variable.
func Declare(name string, about About) Count { return Count{Key{name}, about} }

// Name returns what the count is called where it is shown.
func (k Count) Name() string {
	if k.Label == "" {
		return k.name
	}
	return k.Label
}

// Of returns the count in c.
func (k Count) Of(c Counts) int64 { return c[k.Key] }

// Add adds n to the count in c. A sparse count that is 0 stays out of it.
func (k Count) Add(c Counts, n int64) {
	if n != 0 || !k.Sparse {
		c[k.Key] += n
	}
}

// Has reports whether a key is that of the count, or of a member of the family.
func (k Count) Has(key Key) bool {
	return key == k.Key || k.Family && strings.HasPrefix(key.name, k.name+".")
}

// A Family is the declaration of counts that differ in a member of their name, such
// as the reason of a reject: reject.redirect.
type Family[Member ~string] struct{ Count }

// DeclareFamily declares a family.
func DeclareFamily[Member ~string](name string, about About) Family[Member] {
	about.Family = true
	return Family[Member]{Declare(name, about)}
}

// Member returns the key of a member.
func (f Family[Member]) Member(m Member) Key { return Key{f.name + "." + string(m)} }

// AddAll adds counts by member to c.
func (f Family[Member]) AddAll(c Counts, members map[Member]int64) {
	for m, n := range members {
		c[f.Member(m)] += n
	}
}

// Members yields the members in c that are not 0, sorted.
func (f Family[Member]) Members(c Counts) iter.Seq2[Member, int64] {
	return func(yield func(Member, int64) bool) {
		for k, n := range c.All() {
			if m, ok := strings.CutPrefix(k.name, f.name+"."); ok && n > 0 && !yield(Member(m), n) {
				return
			}
		}
	}
}

// stages are the counts of each stage, in the order in which they are shown.
var stages = map[string][]Count{}

// Stage says which counts the manifests of a stage may have, in the order in which
// they are shown. It panics if two have the same name. It is for init functions.
func Stage(name string, list []Count) {
	for i, k := range list {
		if slices.ContainsFunc(list[:i], func(o Count) bool { return o.Key == k.Key }) {
			panic("BUG: stage " + name + " has two counts named " + k.name)
		}
	}
	stages[name] = list
}

// Stages returns the names of all stages of this program, sorted.
func Stages() []string { return slices.Sorted(maps.Keys(stages)) }

// Shown yields the counts of a stage that are shown at a place and are not 0 in c.
func Shown(stage string, in Place, c Counts) iter.Seq2[Count, int64] {
	return func(yield func(Count, int64) bool) {
		for _, k := range stages[stage] {
			if n := k.Of(c); n != 0 && k.In&in != 0 && !yield(k, n) {
				return
			}
		}
	}
}

// OfStage returns the counts of a stage in the order in which they are shown; none
// for a stage that this program does not have.
func OfStage(name string) []Count { return stages[name] }
