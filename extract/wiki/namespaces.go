package wiki

import "strings"

// canonicalNamespaces returns the English names that every MediaWiki accepts in
// addition to its own (mediawiki/core, includes/title/NamespaceInfo.php, CANONICAL_NAMES,
// and the namespaces of Scribunto and TimedText on Wikimedia's wikis).
func canonicalNamespaces() []Namespace {
	return []Namespace{
		{-2, "Media"}, {-1, "Special"}, {1, "Talk"}, {2, "User"}, {3, "User talk"}, {4, "Project"}, {5, "Project talk"},
		{6, "File"}, {6, "Image"}, {7, "File talk"}, {7, "Image talk"}, {8, "MediaWiki"}, {9, "MediaWiki talk"},
		{10, "Template"}, {11, "Template talk"}, {12, "Help"}, {13, "Help talk"}, {14, "Category"}, {15, "Category talk"},
		{710, "TimedText"}, {711, "TimedText talk"}, {828, "Module"}, {829, "Module talk"},
	}
}

// namespaceTable maps names of namespaces, lower-cased, to their keys.
type namespaceTable map[string]int

func newNamespaceTable(head Head) namespaceTable {
	t := namespaceTable{}
	for _, n := range canonicalNamespaces() {
		t[namespaceKey(n.Name)] = n.Key
	}
	for _, n := range head.Namespaces {
		t[namespaceKey(n.Name)] = n.Key
	}
	delete(t, "") // articles have no prefix
	return t
}

// ofTitle returns the namespace in the prefix of a title; 0 if it has none.
func (t namespaceTable) ofTitle(title string) int {
	prefix, _, ok := strings.Cut(title, ":")
	if !ok {
		return 0
	}
	return t[namespaceKey(prefix)]
}

// namespaceKey converts a name to the form in which MediaWiki compares names:
// lower case, with single spaces for underscores.
func namespaceKey(name string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' }), " "))
}
