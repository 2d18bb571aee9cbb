package wiki

import (
	"strings"

	"pretext/extract/wiki/internal/namespace"
)

// namespaceTable maps the names of namespaces, as [namespace.Key] returns them, to
// their numbers.
type namespaceTable map[string]int

func newNamespaceTable(head Head) namespaceTable {
	t := namespaceTable{}
	for _, n := range namespace.English {
		t[namespace.Key(n.Name)] = n.Number
	}
	for _, n := range head.Namespaces {
		t[namespace.Key(n.Name)] = n.Key
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
	return t[namespace.Key(prefix)]
}

// names returns the wiki's names of its namespaces.
func (h Head) names() map[int]string {
	names := make(map[int]string, len(h.Namespaces))
	for _, n := range h.Namespaces {
		names[n.Key] = n.Name
	}
	return names
}

// namespace10 returns the wiki's name of the template namespace, in lower case; "" if
// the dump does not contain it.
func (h Head) namespace10() string {
	for _, n := range h.Namespaces {
		if n.Key == templateNamespace {
			return namespace.Key(n.Name)
		}
	}
	return ""
}
