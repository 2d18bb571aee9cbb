package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestASpreadIsMedianLeastAndGreatest(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{4, 1}, spread{2.5, 1, 4}},
		{[]float64{9, 1, 2}, spread{2, 1, 9}},
	} {
		if got := spreadOf(test.values); got != test.want {
			t.Errorf("%v: got %v, want %v", test.values, got, test.want)
		}
	}
}

// Two works that are slowed by the same factor in a round keep their ratio.
func TestARatioIsTakenWithinARound(t *testing.T) {
	ours, peer := &result{Name: "ours"}, &result{Name: "peer"}
	for _, slow := range []time.Duration{1, 7, 3} {
		ours.Samples = append(ours.Samples, sample{CPU: slow * time.Second, Bytes: 6e6})
		peer.Samples = append(peer.Samples, sample{CPU: 2 * slow * time.Second, Bytes: 3e6})
	}
	if got, want := ratio(ours, peer), (spread{4, 4, 4}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	r := &report{Results: []*result{peer, ours}, Pairs: []pair{{"a", "ours", "peer", 4, &verdict{Text: "same"}}, {"b", "ours", "peer", 4.1, &verdict{Text: "same"}}}}
	rows := r.pairRows()
	if kept, missed := rows[1][4], rows[2][4]; kept != "≥ 4: kept" || missed != "≥ 4.1: **missed**" {
		t.Errorf("got %q and %q", kept, missed)
	}
}

func TestSamplesAreSpreadEvenlyOverTheInput(t *testing.T) {
	units := strings.Split("aa bb cc dd ee ff", " ")
	for size, want := range map[int64]string{100: "aa bb cc dd ee ff", 6: "aa cc ee", 3: "aa ee"} {
		if got := strings.Join(thin(units, size), " "); got != want {
			t.Errorf("%d bytes: got %q, want %q", size, got, want)
		}
	}
}

func TestArticlesAreThePagesOfNamespaceZeroThatAreNoRedirects(t *testing.T) {
	const xml = `<mediawiki><page><title>A &amp; B</title><ns>0</ns><revision><text bytes="9" xml:space="preserve">&lt;b&gt; &amp;nbsp;</text></revision></page>
<page><title>C</title><ns>0</ns><redirect title="A" /><revision><text>#REDIRECT [[A]]</text></revision></page>
<page><title>Talk:A</title><ns>1</ns><revision><text>x</text></revision></page>
<page><title>D</title><ns>0</ns><revision><text bytes="0" /></revision></page></mediawiki>`
	want := []page{{"A & B", []byte("<b> &nbsp;")}, {"D", []byte{}}}
	got, err := articles(strings.NewReader(xml))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(page{})); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestOnlyThePartBetweenTheMarksOfAPageIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	const page = "above\n<!-- bench stages -->\nold\n<!-- end -->\nbetween\n<!-- bench peers -->\nkept\n<!-- end -->\n"
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &report{Results: []*result{{Name: "yardstick", Of: "XML", Samples: []sample{{CPU: time.Second, Bytes: 5e6}}}},
		Pairs: []pair{{Name: "runner beside runner", Ours: "yardstick", Peer: "yardstick", Same: &verdict{}}}} // of our own programs alone
	if err := r.writePage(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(raw)
	if strings.Contains(got, "old") || !strings.HasPrefix(got, "above\n<!-- bench stages -->\n") || !strings.Contains(got, "| yardstick | 5.00 | XML | 5.00 (5.00–5.00) |") ||
		!strings.HasSuffix(got, "<!-- end -->\nbetween\n<!-- bench peers -->\nkept\n<!-- end -->\n") {
		t.Errorf("got\n%s", got)
	}
	if err := os.WriteFile(path, []byte("no marks\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.writePage(path); err == nil {
		t.Error("a page without marks was taken")
	}
}

// What a pair needs is measured, though only one side's name was asked for.
func TestAFilterKeepsTheYardstickAndBothSidesOfAPair(t *testing.T) {
	works := []*work{{name: "bzip2 -dc"}, {name: "ours"}, {name: "peer"}, {name: "other"}}
	pairs := []pair{{Ours: "ours", Peer: "peer"}, {Ours: "other", Peer: "bzip2 -dc"}}
	kept, compared := filter(works, pairs, regexp.MustCompile("^peer$"))
	var names []string
	for _, w := range kept {
		names = append(names, w.name)
	}
	if diff := cmp.Diff([]string{"bzip2 -dc", "ours", "peer"}, names); diff != "" || len(compared) != 1 {
		t.Error(diff, compared)
	}
}

func TestOutputsAreComparedUnitByUnit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums")
	if err := os.WriteFile(path, []byte{1, 0, 0, 0, 2, 0, 0, 0}, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := compareSums(path, []uint32{1, 2}); err != nil || got != "equal for all of 2 units" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := compareSums(path, []uint32{1, 3}); err != nil || got != "different for 1 of 2 units" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := compareSums(path, []uint32{1}); err == nil {
		t.Error("more results than units were taken")
	}
}

// A pair is compared whole, even where only one of its names matches.
func TestAFilterKeepsBothWorksOfAPair(t *testing.T) {
	works := []*work{{name: "baseline"}, {name: "ours"}, {name: "theirs"}, {name: "other"}}
	for only, want := range map[string]string{"ours": "baseline ours theirs", "theirs": "baseline ours theirs", "other": "baseline other", "x": "baseline"} {
		kept, pairs := filter(works, []pair{{Ours: "ours", Peer: "theirs"}}, regexp.MustCompile("^"+only))
		var names []string
		for _, w := range kept {
			names = append(names, w.name)
		}
		if got := strings.Join(names, " "); got != want || (len(pairs) == 1) != strings.Contains(want, "ours") {
			t.Errorf("%s: got %s and %d pairs, want %s", only, got, len(pairs), want)
		}
	}
}

// A row is written when its work ends, not when all works have ended.
func TestARowIsWrittenAsItsWorkEnds(t *testing.T) {
	var out, progress strings.Builder
	var seen []string // the output when the second work runs, by round
	works := []*work{
		{name: "yardstick", of: "XML", run: func(context.Context) (sample, error) { return sample{CPU: time.Second, Bytes: 5e6}, nil }},
		{name: "a longer name", of: "text", run: func(context.Context) (sample, error) {
			seen = append(seen, out.String())
			return sample{CPU: time.Second, Bytes: 10e6}, nil
		}},
	}
	r := &report{Pairs: []pair{{"a / b", "a longer name", "yardstick", 1, &verdict{Text: "same"}}}}
	if err := r.writeRows(t.Context(), works, 2, &out, &progress); err != nil {
		t.Fatal(err)
	}
	const first, second = "yardstick      5.00  XML   5.00 (5.00–5.00)  1.00 (1.00–1.00)\n", "a longer name  10.0  text  10.0 (10.0–10.0)  2.00 (2.00–2.00)\n"
	if len(seen) != 2 || strings.Contains(seen[0], "yardstick") || !strings.HasSuffix(seen[1], first) {
		t.Errorf("when the second work ran: %q", seen)
	}
	if got := out.String(); !strings.Contains(got, first+second) || !strings.Contains(got, "≥ 1: kept") || !strings.Contains(got, "load average before and after each round") {
		t.Errorf("got\n%s", got)
	}
	if got := progress.String(); !strings.Contains(got, "round 1 of 2: a longer name: 10.0 MB/s a core\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestOutsideOfACheckoutIsOneClearError(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PRETEXT_DATA", "")
	err := run(t.Context(), nil, io.Discard, io.Discard)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "checkout") {
		t.Errorf("got %v", err)
	}
	all := []string{"-dump", "a", "-books", "b", "-vocab", "c", "-languages", ""}
	if _, err := parse(all, io.Discard); err != nil {
		t.Errorf("with all inputs: %v", err)
	}
	for i := 0; i < len(all); i += 2 {
		if _, err := parse(append(slices.Clone(all[:i]), all[i+2:]...), io.Discard); err == nil {
			t.Errorf("without %s: no error", all[i])
		}
	}
}
