package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"pretext/counts"
	"pretext/extract/wiki/facts"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/sharding/survey/report"
)

const hostile = `<script>alert(1)</script>" onload="x`

// sample is a survey with all parts, and names that would be markup.
func sample() *survey.Stats {
	limits := &survey.Limits{Expected: 0.8, Low: 0.79, High: 0.81, Within: false, Why: hostile}
	share := survey.Share{Count: 700, Of: 1000, Share: 0.7, Limits: limits}
	fine := survey.Share{Count: 800, Of: 1000, Share: 0.8, Limits: &survey.Limits{Expected: 0.8, Low: 0.79, High: 0.81, Within: true}}
	unknown := survey.Share{Count: 5, Of: 500, Share: 0.01}
	return &survey.Stats{
		Path: "/data/" + hostile,
		Stages: []survey.Stage{{Stage: "extract", Folder: "documents", Fingerprint: "f1", Manifest: "m1", Options: json.RawMessage(`{"a":{"b":[1]}}`),
			Inputs: []sharding.Input{{Name: hostile, Bytes: 12, SHA256: "abc"}}, Counts: sharding.Counts{counts.KeyOf("documents"): 4321, counts.KeyOf("text_bytes"): 5000},
			Downloads: []survey.Download{{Name: "d.xml", Bytes: 7, Origin: sharding.Origin{URL: "https://example.org/d.xml", Licence: "CC BY"}}},
			Run:       &survey.Run{Started: time.Unix(0, 0), Seconds: 2, CPUSeconds: 1, Command: []string{"prepare-data", hostile}}}},
		Documents: []*survey.DocumentStats{{Folder: "documents", Documents: 4321, TextBytes: 5000, LongestID: hostile, Lengths: []survey.Bin{{Value: 1, Count: 3}, {Value: 4, Count: 4318}},
			Languages: []survey.Name{{Name: "", Count: 4321}}, Sources: []survey.Name{{Name: hostile, Count: 4321}}, Rejects: []survey.Name{{Name: "redirect", Count: 77}}, Rejected: 77,
			Dropped: []survey.Name{{Name: hostile, Count: 2}},
			Holes: []facts.WikiHoles{{Wiki: "elwiki", Sentences: 2000, Holes: 43, PerThousand: 21.5, Templates: []facts.WikiTemplate{{Name: hostile, Hole: facts.Hole{Uses: 41, First: "Rome & " + hostile}}},
				Uses: facts.Sources{"hole": 41, "own": 9}, ByName: []facts.TemplateSource{{Name: hostile, Uses: facts.Sources{"hole": 41, "own": 1}}}},
				{Wiki: "ltgwiki", Sentences: 3131}}}},
		Records: &survey.RecordStats{Files: 2, Bytes: 4096, Records: 98765, MaxSeqLength: 16, MaxPredictionsPerSeq: 3, Tokens: 1000, Places: 1600, Padding: 0.375,
			Lengths: []survey.Bin{{Value: 5, Count: 1}, {Value: 16, Count: 98764}}, Masked: []survey.Bin{{Value: 1, Count: 98765}},
			MaskRate: fine, BecameMask: share, Kept: fine, Replaced: fine, RandomNext: fine, Unknown: &unknown,
			Vocab: survey.VocabUse{Size: 100, Used: 50}, Top: []survey.Token{{ID: 7, Token: hostile, Count: 9, Share: 0.1}, {ID: 8, Count: 3}},
			Splits:     []survey.Split{{Split: "train", Files: 2, Records: survey.Balance{Total: 98765, Min: 1, Median: 1, Max: 98764, CV: 0.99, Files: []int64{1, 98764}}}},
			Duplicates: survey.Repeated{Records: 3, Between: 2, First: []survey.Repeat{{File: hostile, Record: 1, Earlier: "a", Of: 2}}}},
	}
}

func write(t testing.TB, s *survey.Stats) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// elements returns all elements of a page, and its text.
func elements(t *testing.T, page string) (all []*html.Node, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			all = append(all, n)
		case html.TextNode:
			b.WriteString(n.Data + " ")
		}
	}
	return all, b.String()
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func TestThePageLoadsNothingAndRunsNothing(t *testing.T) {
	page := write(t, sample())
	all, _ := elements(t, page)
	for _, n := range all {
		switch n.Data {
		case "script", "link", "img", "iframe", "object", "embed", "a", "form", "base", "use", "image", "foreignObject":
			t.Errorf("the page has a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" || a.Key == "style" {
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
	for _, sign := range []string{"url(", "@import", "@font-face"} {
		if strings.Contains(page, sign) {
			t.Errorf("the page holds %q", sign)
		}
	}
}

func TestThePageHasTheNumbersOfTheSurvey(t *testing.T) {
	_, text := elements(t, write(t, sample()))
	text = strings.ReplaceAll(strings.ReplaceAll(text, ",", ""), "\u00a0", " ")
	for _, want := range []string{"98765", "4321", "37.50 %", "70.00 %", "79.00 %", "redirect", "77", "1.00 %", "https://example.org/d.xml", "CC BY", "a.b", "[1]",
		"1 of 5 masking fractions are outside", "id 8", "5.0 kB of text per second", "m1", "f1", hostile} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// The section on holes has a line for each wiki and each template, and states
// what the numbers leave out.
func TestThePageShowsHolesByWiki(t *testing.T) {
	s := sample()
	d := s.Documents[0]
	holes := func() string {
		all, _ := elements(t, write(t, s))
		for _, n := range all {
			if strings.Contains(attribute(n, "class"), "holes") {
				var b strings.Builder
				for k := range n.Descendants() {
					if k.Type == html.TextNode {
						b.WriteString(k.Data + " ")
					}
				}
				return strings.Join(strings.Fields(b.String()), " ")
			}
		}
		return ""
	}
	want := "Holes in sentences templates that gave no text where text was expected Wiki Sentences Holes Per 1,000 sentences elwiki 2,000 43 21.50 ltgwiki 3,131 0 0.00 " +
		"templates of elwiki Template Holes First page " + hostile + " 41 Rome & " + hostile +
		" what showed the templates of elwiki Template Uses By source all, in documents 50 own 9, hole 41 " + hostile + " 42 own 1, hole 41"
	if got := holes(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	d.Rejects, d.DroppedSlack, d.FromHTML = []survey.Name{{Name: "holes", Count: 3}}, 2, true
	if got := holes(); got != want+" Pages read as HTML have no holes: the wiki had rendered all templates. Rejected because of --max-holes: 3 pages. The templates include theirs, the numbers of holes and sentences do not. Counts of templates may be too low by up to 2." {
		t.Errorf("with notes: got %q", got)
	}
	d.Holes, d.Rejects = nil, nil
	if got := holes(); got != "Holes in sentences No holes: the pages were read as HTML, in which the wiki had rendered all templates." {
		t.Errorf("only HTML: got %q", got)
	}
	d.FromHTML, d.Pages = false, 7
	if got := holes(); got != "Holes in sentences No holes were counted." {
		t.Errorf("none: got %q", got)
	}
	d.Pages = 0
	if got := holes(); got != "" {
		t.Errorf("books: got %q", got)
	}
}

func TestDrawingsAreInProportion(t *testing.T) {
	all, _ := elements(t, write(t, sample()))
	heights := map[string]float64{}
	points := 0
	for _, n := range all {
		if n.Data == "circle" {
			points++
		}
		if n.Data != "rect" || n.FirstChild == nil || n.FirstChild.FirstChild == nil {
			continue
		}
		var h float64
		fmt.Sscan(attribute(n, "height"), &h)
		heights[strings.ReplaceAll(n.FirstChild.FirstChild.Data, ",", "")] = h
	}
	if points != 5 {
		t.Errorf("got %d points, want 5", points)
	}
	one, most := heights["file 0: 1 example"], heights["file 1: 98764 examples"]
	if one <= 0 || most <= 100 || one > 1 {
		t.Errorf("got heights %v and %v of %v", one, most, heights)
	}
	if full := heights["16 tokens: 98764 examples"]; math.Abs(full-most) > 0.1 {
		t.Errorf("got heights %v and %v for the same number", full, most)
	}
}

func TestThePageIsAFunctionOfTheSurvey(t *testing.T) {
	first, second := write(t, sample()), write(t, sample())
	if first != second {
		t.Error("two pages of one survey differ")
	}
	other := sample()
	other.Stages[0].Run.Seconds = 99
	a, b := write(t, sample()), write(t, other)
	cut := func(s string) string {
		i, j := strings.Index(s, `<section id="made">`), strings.Index(s, "<footer>")
		return s[:i] + s[j:]
	}
	if cut(a) != cut(b) {
		t.Error("run.json shows outside of its section")
	}
}

func TestSurveysWithLittleInThemHavePages(t *testing.T) {
	for name, s := range map[string]*survey.Stats{
		"nothing":   {Path: "x"},
		"no limits": {Path: "x", Records: &survey.RecordStats{Vocab: survey.VocabUse{Inferred: true}}},
		"documents": {Path: "x", Documents: []*survey.DocumentStats{{Folder: "."}}},
	} {
		if page := write(t, s); !strings.HasSuffix(page, "</html>\n") || strings.Contains(page, "NaN") {
			t.Errorf("%s: got %d bytes", name, len(page))
		}
	}
}

func ExampleWrite() {
	var page bytes.Buffer
	err := report.Write(&page, &survey.Stats{Path: "data", Records: &survey.RecordStats{Records: 4020}})
	fmt.Println(strings.Contains(page.String(), "4,020"), err)
	// Output: true <nil>
}

// A reader who opens the page must meet what is wrong before what is well.
func TestWarningsComeFirst(t *testing.T) {
	s := sample()
	s.Stages[0].Warnings = []sharding.DescribedWarning{{Text: "61 % of the tokens are [UNK]"}, {Text: hostile}}
	_, text := elements(t, write(t, s))
	text = text[strings.Index(text, "Pre-training data"):]
	warning, sum, tile := strings.Index(text, "61 % of the tokens"), strings.Index(text, "masking fractions are"), strings.Index(text, "98,765")
	if !(0 < warning && warning < sum && sum < tile) || !strings.Contains(text, "2 warnings") {
		t.Errorf("the warning is at %d, the sum at %d, the first number at %d", warning, sum, tile)
	}
	if strings.Contains(write(t, sample()), `id="warnings"`) {
		t.Error("a page of data without warnings speaks of them")
	}
}

var pixels = regexp.MustCompile(`(?:^|[;{\s])(?:min-)?width:\s*([0-9.]+)px`)

// On a screen of 390 pixels nothing is wider than it: there is no fixed width, no
// column of a grid that cannot shrink, drawings have a viewBox and no size, and
// tables with more than a name and a bar turn into blocks.
func TestThePageFitsANarrowScreen(t *testing.T) {
	page := write(t, sample())
	all, _ := elements(t, page)
	for _, n := range all {
		switch class := strings.Fields(attribute(n, "class")); {
		case n.Data == "svg" && (attribute(n, "viewBox") == "" || attribute(n, "width") != ""):
			t.Errorf("a drawing has a size of its own: %v", n.Attr)
		case n.Data == "table" && !slices.Contains(class, "stack") && !slices.Contains(class, "rows"):
			t.Errorf("a table of class %q stays a table", class)
		case n.Data == "pre":
			t.Error("a <pre> does not break its lines")
		case n.Data == "meta" && attribute(n, "name") == "viewport" && attribute(n, "content") != "width=device-width, initial-scale=1":
			t.Errorf("viewport %q", attribute(n, "content"))
		}
	}
	for _, m := range pixels.FindAllStringSubmatch(page, -1) {
		var width float64
		if fmt.Sscan(m[1], &width); width > 358 { // 390 without the margins of the page
			t.Errorf("a width of %g pixels", width)
		}
	}
	for _, m := range regexp.MustCompile(`grid-template-columns:[^;]*`).FindAllString(page, -1) {
		if strings.Contains(strings.ReplaceAll(m, "minmax(0, 1fr)", ""), "1fr") {
			t.Errorf("columns that cannot shrink: %s", m)
		}
	}
	for _, want := range []string{"@media screen and (max-width", "@media (prefers-color-scheme: dark)", "@media print"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestAChartOfOneBarIsASentence(t *testing.T) {
	s := sample()
	s.Records.Lengths = []survey.Bin{{Value: 16, Count: 98765}}
	s.Records.Splits[0].Files, s.Records.Splits[0].Records.Files = 1, []int64{98765}
	s.Documents[0].Lengths = []survey.Bin{{Value: 1024, Count: 4321}}
	all, text := elements(t, write(t, s))
	for _, n := range all {
		if n.Data == "svg" && attribute(n, "class") == "chart" {
			t.Errorf("a chart of one bar: %s", attribute(n, "aria-label"))
		}
	}
	text = strings.ReplaceAll(text, "\u00a0", " ")
	for _, want := range []string{"All examples have 16 tokens.", "All examples have 1 predicted tokens.", "One file holds them all.", "All documents have 1.0 kB to 2.0 kB of text.", "All 4,321 documents: unknown."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	charts := 0
	two := sample()
	two.Records.Masked = []survey.Bin{{Value: 1, Count: 1}, {Value: 3, Count: 5}}
	all, _ = elements(t, write(t, two))
	for _, n := range all {
		if n.Data == "svg" && attribute(n, "class") == "chart" {
			charts++
		}
	}
	if charts != 4 {
		t.Errorf("got %d charts of more than one bar, want 4", charts)
	}
}

func TestFilesOfAWideChartAreGrouped(t *testing.T) {
	s := sample()
	files := slices.Repeat([]int64{30}, 400)
	s.Records.Splits = []survey.Split{{Split: "train", Files: len(files), Records: survey.Balance{Total: 12000, Files: files}}}
	page := write(t, s)
	for _, want := range []string{"files 0 to 2: 30 examples on average", "files 399 to 399: 30 examples on average"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}
