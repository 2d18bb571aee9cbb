package wikitext

import (
	"strings"
	"testing"
)

func TestTemplateNamesAreFoldedAndListedOnce(t *testing.T) {
	seen := map[string]bool{}
	var scratch []byte
	for _, list := range templateNames {
		for name := range strings.SplitSeq(list.names, "|") {
			if name == "" {
				continue
			}
			if seen[name] {
				t.Errorf("template %q is listed twice", name)
			}
			seen[name] = true
			if folded := string(fold(&scratch, []byte(name))); folded != name {
				t.Errorf("template %q: folded it is %q", name, folded)
			}
		}
	}
}
