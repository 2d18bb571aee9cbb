package wiki

import "strings"

// canonicalNamespaces are the English names that every wiki accepts in
// addition to those in its own language (CANONICAL_NAMES in MediaWiki's
// includes/title/NamespaceInfo.php, and the namespaces of Scribunto and
// TimedText on Wikimedia's wikis).
var canonicalNamespaces = []Namespace{
	{-2, "Media"}, {-1, "Special"}, {1, "Talk"}, {2, "User"}, {3, "User talk"}, {4, "Project"}, {5, "Project talk"},
	{6, "File"}, {6, "Image"}, {7, "File talk"}, {7, "Image talk"}, {8, "MediaWiki"}, {9, "MediaWiki talk"},
	{10, "Template"}, {11, "Template talk"}, {12, "Help"}, {13, "Help talk"}, {14, "Category"}, {15, "Category talk"},
	{710, "TimedText"}, {711, "TimedText talk"}, {828, "Module"}, {829, "Module talk"},
}

// namespaceTable maps the names of namespaces, as namespaceKey returns them, to
// their numbers.
type namespaceTable map[string]int

func newNamespaceTable(head Head) namespaceTable {
	t := namespaceTable{}
	for _, n := range canonicalNamespaces {
		t[namespaceKey(n.Name)] = n.Key
	}
	for _, n := range head.Namespaces {
		t[namespaceKey(n.Name)] = n.Key
	}
	delete(t, "") // articles have no prefix
	return t
}

// ofTitle returns the number of the namespace in a title's prefix, such as 10 for
// "Template:Main"; 0 if the title has no such prefix.
func (t namespaceTable) ofTitle(title string) int {
	prefix, _, ok := strings.Cut(title, ":")
	if !ok {
		return 0
	}
	return t[namespaceKey(prefix)]
}

// names returns the wiki's names of its namespaces.
func (h Head) names() map[int]string {
	names := make(map[int]string, len(h.Namespaces))
	for _, n := range h.Namespaces {
		names[n.Key] = n.Name
	}
	return names
}

// namespaceKey converts the name of a namespace to the form in which MediaWiki compares
// names: lower case, with single spaces for underscores.
func namespaceKey(name string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' }), " "))
}

// namespace10 returns the wiki's name of the template namespace, in lower case; "" if
// the dump does not contain it.
func (h Head) namespace10() string {
	for _, n := range h.Namespaces {
		if n.Key == templateNamespace {
			return namespaceKey(n.Name)
		}
	}
	return ""
}
