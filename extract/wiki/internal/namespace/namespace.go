// Package namespace knows the names of the namespaces of wikis: the English ones, which every
// wiki accepts, beside the wiki's own.
package namespace

import (
	"maps"
	"slices"
	"strings"
)

// A Namespace has the number and one of the names of a namespace.
type Namespace struct {
	Number int
	Name   string
}

// English are the English names that every wiki accepts in addition to those in its own
// language (CANONICAL_NAMES in MediaWiki's includes/title/NamespaceInfo.php, and the
// namespaces of Scribunto and TimedText on Wikimedia's wikis). Of two names of a namespace
// the usual one is first.
var English = []Namespace{
	{-2, "Media"}, {-1, "Special"}, {1, "Talk"}, {2, "User"}, {3, "User talk"}, {4, "Project"}, {5, "Project talk"},
	{6, "File"}, {6, "Image"}, {7, "File talk"}, {7, "Image talk"}, {8, "MediaWiki"}, {9, "MediaWiki talk"},
	{10, "Template"}, {11, "Template talk"}, {12, "Help"}, {13, "Help talk"}, {14, "Category"}, {15, "Category talk"},
	{710, "TimedText"}, {711, "TimedText talk"}, {828, "Module"}, {829, "Module talk"},
}

// Key converts a name to the form in which MediaWiki compares names: lower case, with single
// spaces for underscores.
func Key(name string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' }), " "))
}

// Number returns the number of the namespace with a name, which is one of the wiki's own, by
// number, or an English one. Articles have no name.
func Number(own map[int]string, name string) (number int, ok bool) {
	key := Key(name)
	if key == "" {
		return 0, false
	}
	for _, n := range slices.Sorted(maps.Keys(own)) {
		if Key(own[n]) == key {
			return n, true
		}
	}
	for _, n := range English {
		if Key(n.Name) == key {
			return n.Number, true
		}
	}
	return 0, false
}

// Name returns the wiki's own name of a namespace, or else the English one; "" if there is
// none.
func Name(own map[int]string, number int) string {
	if name := own[number]; name != "" {
		return name
	}
	for _, n := range English {
		if n.Number == number {
			return n.Name
		}
	}
	return ""
}
