package wikitext

import "iter"

// A Source is what decided about a use of a template in a page: where the text comes from,
// or why there is none. Each use has exactly one.
type Source uint8

// The sources, in their order of precedence.
const (
	fromUser        Source = iota // a line of a file of the user
	fromWiki                      // the wiki's own definition
	fromConfirmed                 // a compiled-in rule that rendered pages have confirmed
	fromUnconfirmed               // a compiled-in rule, or the form of the template's name
	fromFunction                  // a variable or parser function of MediaWiki
	byRule                        // a compiled-in rule drops the template
	apart                         // no rule; the template stands outside of sentences, such as a box
	asHole                        // no rule, or one that shows nothing: a [Hole]
	numSources
)

var sourceNames = [numSources]string{"user", "own", "confirmed", "unconfirmed", "function", "dropped", "apart", "hole"}

// String returns the name of the source in manifests.
func (s Source) String() string { return sourceNames[s] }

// Sources returns all sources.
func Sources() iter.Seq[Source] {
	return func(yield func(Source) bool) {
		for s := range numSources {
			if !yield(s) {
				return
			}
		}
	}
}

// useTally counts the uses of templates in pages, by source and name. A use in the
// arguments of a template that is dropped or expanded, or in a table or footnote, is part
// of that and not counted.
type useTally struct {
	page  [numSources]int // of the last page
	names [numSources]Tally
}

func (t *useTally) add(s Source, name []byte) {
	t.page[s]++
	t.names[s].Add(name, 1)
}

// PageUses returns the number of uses of templates in the page last passed to
// [Scanner.AppendText], by source.
func (s *Scanner) PageUses(from Source) int { return s.losses.uses.page[from] }

// Uses yields the templates that a source decided about, with the number of their uses, in
// order of decreasing number. Names are in lower case.
func (s *Scanner) Uses(from Source) iter.Seq2[string, int] { return s.losses.uses.names[from].All() }
