package cli

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// NameSettings returns a function that corrects the names of settings in a message.
// Packages name every option as a flag: "--timeout 3s: …". For a setting, the function
// changes this to what the user can type: "--set timeout=3s: …". It recognizes as a value
// a number, and text in capitals, in quotes or before a colon.
func NameSettings(groups []Group) func(message string) string {
	var names []string
	for _, g := range groups {
		for _, entry := range g.Settings {
			if !strings.Contains(entry, "@") {
				names = append(names, entry)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // longer names first, so that the longest name matches
	named := sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|[^\w-])--(` + strings.Join(names, "|") + `)\b(?:[ =]([-+]?[0-9][\w.]*|[A-Z]+\b|"[^"]*")|[ =]([^\s-]\S*?)(: ))?`)
	})
	return func(message string) string {
		if len(names) == 0 || !strings.Contains(message, "--") {
			return message
		}
		return named().ReplaceAllStringFunc(message, func(s string) string {
			m := named().FindStringSubmatch(s)
			value := m[3] + m[4]
			if value != "" {
				value = "=" + value
			}
			return m[1] + "--set " + m[2] + value + m[5]
		})
	}
}
