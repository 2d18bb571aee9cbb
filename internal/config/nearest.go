package config

import (
	"slices"
	"strings"
)

// Nearest returns the element of names that the user most likely meant by the unknown
// name. The result is false if there is none. A candidate begins with the unknown name, or
// its edit distance (insertions, deletions, replacements and swaps of neighbours) is at
// most a third of the length. Nearest returns the candidate with the smallest distance, and
// of several the first in alphabetical order.
func Nearest(name string, names []string) (string, bool) {
	best, least := "", len(name)/3+1
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := distance(name, n); d < least || d == least && best == "" && d <= max(1, len(name)/3) {
			best, least = n, d
		}
	}
	if best != "" || len(name) < 3 {
		return best, best != ""
	}
	for _, n := range slices.Sorted(slices.Values(names)) {
		if strings.HasPrefix(n, name) {
			return n, true
		}
	}
	return "", false
}

// distance returns the optimal string alignment distance of two names.
func distance(a, b string) int {
	const most = 64 // no real name is longer
	if len(a) > most || len(b) > most {
		return most
	}
	var rows [most + 1][most + 1]int
	for i := range len(a) + 1 {
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
