package wiki

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamesOfPartsAreRead(t *testing.T) {
	for name, want := range map[string]Part{
		"enwiki-20260801-pages-articles1.xml-p1p41242.bz2":               {"enwiki-20260801-pages-articles", 1, 41242},
		"d/enwiki-20260801-pages-articles-multistream27.xml-p5p7.bz2":    {"enwiki-20260801-pages-articles-multistream", 5, 7},
		"enwiki-2026-08-01-p1p41242.xml.bz2":                             {"enwiki-2026-08-01", 1, 41242},
		"enwiki-2026-08-01-p1p41242.xml":                                 {"enwiki-2026-08-01", 1, 41242},
		"enwiki-20260801-pages-articles.xml.bz2":                         {},
		"enwiki-20260801-pages-articles-multistream-index1.txt-p1p9.bz2": {},
		"w-p9p1.xml":                        {},
		"w-p1p99999999999999999999.xml.bz2": {},
	} {
		got, ok := parsePart(name)
		if ok != (want != Part{}) || ok && got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, ok, want)
		}
	}
}

func TestPartsAreSortedInTheirPlaces(t *testing.T) {
	paths := []string{"x.xml", "w-p21p30.xml", "v-p5p9.xml", "w-p3p20.xml", "a.xml", "v-p1p4.xml", "w-p1p2.xml"}
	want := []string{"x.xml", "w-p1p2.xml", "v-p1p4.xml", "w-p3p20.xml", "a.xml", "v-p5p9.xml", "w-p21p30.xml"}
	for range 20 {
		got := slices.Clone(paths)
		SortParts(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		rand.Shuffle(3, func(i, j int) { // the parts of w, in any order
			at := []int{1, 3, 6}
			paths[at[i]], paths[at[j]] = paths[at[j]], paths[at[i]]
		})
	}
}

func TestGapsAndOverlapsOfPartsAreNamed(t *testing.T) {
	for names, want := range map[string][]string{
		"w-p1p2.xml w-p3p9.xml":                            nil,
		"w-p3p9.xml w-p1p2.xml x.xml":                      nil,
		"w-p3p9.xml":                                       {"w: no part has pages 1 to 2: is one missing?"},
		"w-p1p2.xml w-p4p9.xml v-p1p2.xml":                 {"w: no part has pages 3 to 3: is one missing?"},
		"w-p1p20.xml w-p4p9.xml w-p21p.xml":                {"w: pages 4 to 9 are in two parts: is one part from another dump, or given twice?"},
		"w-p1p20.xml a/w-p1p20.xml":                        {"w: pages 1 to 20 are in two parts: is one part from another dump, or given twice?"},
		"w-p1p20.xml w-p2p9.xml w-p21p30.xml w-p40p41.xml": {"w: pages 2 to 9 are in two parts: is one part from another dump, or given twice?", "w: no part has pages 31 to 39: is one missing?"},
	} {
		if diff := cmp.Diff(want, CheckParts(strings.Fields(names))); diff != "" {
			t.Errorf("%s:\n%s", names, diff)
		}
	}
}

func TestWhatLiesBesideDumpsIsKnownByName(t *testing.T) {
	for _, name := range []string{"enwiki-20260801-pages-articles.xml.bz2", "enwiki-20260801-pages-articles-multistream1.xml-p1p9.bz2", "enwiki-2026-08-01-p1p9.xml.bz2",
		"enwiki-20260801-pages-meta-current1.xml-p1p9.bz2", "my.xml", "My.XML.gz"} {
		if !HasDumpName(name) {
			t.Errorf("%s is no name of a dump: %q", name, Companion(name))
		}
	}
	for _, name := range []string{"enwiki-20260801-pages-articles-multistream-index.txt.bz2", "enwiki-20260801-pages-articles-multistream-index1.txt-p1p9.bz2", "SHA256SUMS",
		"enwiki-20260801-md5sums.txt", "enwiki-20260801-sha1sums-page.sql.gz.txt", "enwiki-20260801-page.sql.gz", "enwiki-20260801-abstract1.xml.gz", "enwiki-20260801-stub-articles.xml.gz",
		"enwiki-20260801-pages-logging.xml.gz", "enwiki-20260801-all-titles-in-ns0.gz", "dumpstatus.json", "_SUCCESS", "enwiki-latest-page.sql.gz-rss.xml", "a.bz2.md5"} {
		if Companion(name) == "" || HasDumpName(name) {
			t.Errorf("%s passes for a dump", name)
		}
	}
	if HasDumpName(".hidden.xml") || HasDumpName("a.txt") || Companion("a.txt") != "" {
		t.Error("other files pass for dumps or what lies beside them")
	}
}

func FuzzParsePart(f *testing.F) {
	f.Add("enwiki-20260801-pages-articles1.xml-p1p41242.bz2")
	f.Add("w-p1p2.xml")
	f.Fuzz(func(t *testing.T, name string) {
		p, ok := parsePart(name)
		if ok && (p.First < 0 || p.Last < p.First || p.Dump == "" || !strings.Contains(name, p.Dump)) {
			t.Errorf("%q: %+v", name, p)
		}
		CheckParts([]string{name, name})
	})
}
