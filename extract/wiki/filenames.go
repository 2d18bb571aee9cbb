package wiki

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Part is the information in the name of a part of a dump. Wikimedia splits
// large dumps by page numbers:
//
//	enwiki-20260801-pages-articles1.xml-p1p41242.bz2
//	enwiki-2026-08-01-p1p41242.xml.bz2
type Part struct {
	Dump        string // prefix that the names of all parts of the dump share
	First, Last int64  // page numbers in the part, both inclusive
}

var (
	legacyPart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(.+?)\d*\.xml-p(\d{1,18})p(\d{1,18})\.(?:bz2|gz|7z|zst)$`)
	})
	contentPart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(.+)-p(\d{1,18})p(\d{1,18})\.xml(?:\.(?:bz2|gz|7z|zst))?$`)
	})
)

// parsePart parses the file name of a part of a dump. ok is false for any other
// file name.
func parsePart(path string) (p Part, ok bool) {
	name := filepath.Base(path)
	m := legacyPart().FindStringSubmatch(name)
	if m == nil {
		m = contentPart().FindStringSubmatch(name)
	}
	if m == nil {
		return Part{}, false
	}
	p.Dump = m[1]
	p.First, _ = strconv.ParseInt(m[2], 10, 64) // at most 18 digits
	p.Last, _ = strconv.ParseInt(m[3], 10, 64)
	return p, p.First <= p.Last
}

// SortParts sorts paths in place, so that the parts of each dump are in the order of
// their page numbers. Paths of files that are not parts do not move.
func SortParts(paths []string) {
	places := map[string][]int{}
	var dumps []string
	for i, path := range paths {
		if p, ok := parsePart(path); ok {
			if places[p.Dump] == nil {
				dumps = append(dumps, p.Dump)
			}
			places[p.Dump] = append(places[p.Dump], i)
		}
	}
	for _, dump := range dumps {
		var sorted []string
		for _, i := range places[dump] {
			sorted = append(sorted, paths[i])
		}
		slices.SortStableFunc(sorted, func(a, b string) int {
			p, _ := parsePart(a)
			q, _ := parsePart(b)
			return cmp.Or(cmp.Compare(p.First, q.First), cmp.Compare(p.Last, q.Last), strings.Compare(a, b))
		})
		for k, i := range places[dump] {
			paths[i] = sorted[k]
		}
	}
}

// CheckParts returns a message for each gap and each overlap between the parts of each
// dump. It cannot detect that the last part is missing, because file names do not
// contain the number of pages.
func CheckParts(paths []string) (lines []string) {
	sorted := slices.Clone(paths)
	SortParts(sorted)
	last := map[string]Part{}
	for _, path := range sorted {
		p, ok := parsePart(path)
		if !ok {
			continue
		}
		before, seen := last[p.Dump]
		switch next := before.Last + 1; {
		case p.First > next:
			lines = append(lines, fmt.Sprintf("%s: no part has pages %d to %d: is one missing?", p.Dump, next, p.First-1))
		case p.First < next && seen:
			lines = append(lines, fmt.Sprintf("%s: pages %d to %d are in two parts: is one part from another dump, or given twice?", p.Dump, p.First, min(before.Last, p.Last)))
		}
		if p.Last > before.Last || !seen {
			last[p.Dump] = p
		}
	}
	return lines
}

// companions recognizes, by their names, the files that Wikimedia publishes
// beside the dumps of pages.
var companions = []struct {
	name *regexp.Regexp
	what string
}{
	{regexp.MustCompile(`-multistream-index\d*\.txt`), multistreamIndex},
	{regexp.MustCompile(`(?i)^(sha1|sha256|sha512|md5)sums?(\.txt)?$|-(md5|sha1|sha256)sums(-.*)?\.(txt|json)$|\.(md5|sha1|sha256)$`), "a list of checksums"},
	{regexp.MustCompile(`\.sql(\.gz|\.bz2)?$`), "an SQL table"},
	{regexp.MustCompile(`-abstract\d*\.xml`), "the abstracts of pages"},
	{regexp.MustCompile(`-stub-(articles|meta-current|meta-history)\d*\.xml`), "pages without their text"},
	{regexp.MustCompile(`-pages-logging\d*\.xml`), "the log of a wiki"},
	{regexp.MustCompile(`-all-titles(-in-ns0)?(\.gz)?$|-all-titles-in-ns-0\.gz$`), "a list of titles"},
	{regexp.MustCompile(`^(dumpstatus\.json|dumpruninfo\.(txt|json|html)|report\.json|status\.html|index\.html|_SUCCESS|siteinfo-namespaces\.json(\.gz)?)$|-rss\.xml$|-siteinfo-namespaces\.json\.gz$`), "a note about a dump"},
}

// Companion returns a description, such as "an SQL table", of a file that Wikimedia
// publishes next to the dumps of pages. It uses only the file's name. For all other
// files it returns "".
func Companion(path string) string {
	name := filepath.Base(path)
	for _, c := range companions {
		if c.name.MatchString(name) {
			return c.what
		}
	}
	return ""
}

// HasDumpName reports whether a file is named like a dump of pages: it ends in .xml,
// .xml.bz2 or .xml.gz, or has the name of a part ([parsePart]). Names that [Companion]
// recognizes are not dump names.
func HasDumpName(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	if strings.HasPrefix(name, ".") || Companion(path) != "" {
		return false
	}
	if _, ok := parsePart(path); ok {
		return true
	}
	for _, packed := range []string{".bz2", ".gz"} {
		name = strings.TrimSuffix(name, packed)
	}
	return strings.HasSuffix(name, ".xml")
}

// dateOf returns the date in the name of a dump, "enwiki-20250101-pages-articles.xml.bz2";
// zero if there is none.
func dateOf(name string) time.Time {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '.' || r == '_' }) {
		if len(part) == 8 {
			if date, err := time.Parse("20060102", part); err == nil {
				return date
			}
		}
	}
	return time.Time{}
}
