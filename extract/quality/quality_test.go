package quality

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pretext/extract"
)

func Example() {
	limits, err := SetLimits("gopher")
	if err != nil {
		panic(err)
	}
	limits["min-words"] = 5
	f, err := New(Options{Limits: limits})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{
		"The river runs to the sea, and the boats of the town go with it.",
		"Too short.",
		"Buy now with us! Buy now with us! Buy now with us! Buy now with us! Buy now with us! Buy now with us!",
	} {
		v := f.Check(&extract.Document{Text: text, Lang: "en"})
		fmt.Printf("%q %.2f\n", v.Rule, v.Value)
	}
	// Output:
	// "" 0.00
	// "min-words" 2.00
	// "min-stop-words" 1.00
}

// text draws texts that have all that the rules look at.
func text(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{"the", "The", "and,", "\"have", "river", "river", "sea", "x", "a1", "12", "—", "#", "...", "…", "•", "•item", "end.",
		"What?", "so!\"", "(yes.)", "e.g.", "{", "lorem ipsum", "Lorem Ipsum", "JavaScript", "uses cookies", "Terms of Use", "水", "の", "水。", "เมือง", "Straße",
		"мир", "\u00a0", "\t", "é", "dog's", "'", "»", "\xe2\x80\x8b", strings.Repeat("w", 1001)})
	gap := rapid.SampledFrom([]string{" ", " ", " ", " ", "\n", "\n", "\n\n", "  ", "\n \n", "", "\n\u3000\n\n"})
	phrases := rapid.SliceOfN(rapid.SliceOfN(piece, 1, 6), 1, 8).Draw(t, "phrases")
	var b strings.Builder
	for range rapid.IntRange(0, 30).Draw(t, "n") {
		for _, p := range rapid.SampledFrom(phrases).Draw(t, "phrase") {
			b.WriteString(p)
			b.WriteString(gap.Draw(t, "gap"))
		}
	}
	return strings.TrimSpace(b.String())
}

func TestMeasuresAreThoseOfPlainImplementations(t *testing.T) {
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := &extract.Document{Text: text(t), Lang: rapid.SampledFrom([]string{"", "en", "en-GB", "simple", "de", "ja"}).Draw(t, "lang")}
		for _, r := range Rules() {
			if r.Name == "min-script-share" {
				continue // has tables, and a test, of its own
			}
			got, ok := f.Measure(d, r.Name)
			want, wantOK := slowMeasure(d, r.Name)
			if ok != wantOK || ok && math.Abs(got-want) > 1e-12 {
				t.Fatalf("%s of %q (%s): got %v, %v, want %v, %v", r.Name, d.Text, d.Lang, got, ok, want, wantOK)
			}
		}
	})
}

func TestPublishedLimitsAreThoseOfThePapers(t *testing.T) {
	limits, err := SetLimits("gopher", "c4", "fineweb")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"min-words": 50, "max-words": 100000, "min-mean-word-length": 3, "max-mean-word-length": 10, "max-hash-ratio": .1, "max-ellipsis-ratio": .1,
		"max-bullet-lines": .9, "max-ellipsis-lines": .3, "min-alphabetic-words": .8, "min-stop-words": 2,
		"max-duplicate-lines": .3, "max-duplicate-paragraphs": .3, "max-duplicate-line-characters": .2, "max-duplicate-paragraph-characters": .2,
		"max-top-2-gram": .2, "max-top-3-gram": .18, "max-top-4-gram": .16, "max-duplicate-5-grams": .15, "max-duplicate-6-grams": .14,
		"max-duplicate-7-grams": .13, "max-duplicate-8-grams": .12, "max-duplicate-9-grams": .11, "max-duplicate-10-grams": .1,
		"max-lorem-ipsum": 0, "max-curly-brackets": 0, "min-sentences": 5,
		"min-punctuated-lines": .12, "max-short-lines": .67, "max-line-breaks": .3, "max-repeated-line-characters": .01,
	}
	for name, limit := range want {
		if got, ok := limits[name]; !ok || got != limit {
			t.Errorf("%s: got %v, %v, want %v", name, got, ok, limit)
		}
	}
	for name, limit := range limits {
		lang, rule := SplitLimit(name)
		if published, ok := want[rule]; !ok || lang == NoSpaces && (Rule{Name: rule}).rejects(published, limit) {
			t.Errorf("%s: limit %g; only limits that reject less have a prefix", name, limit)
		}
	}
}

func TestAValueAtTheLimitIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		limit float64
	}{"min-words": {"a b c", 3}, "max-words": {"a b c", 3}, "max-duplicate-lines": {"a\na", 0.5}, "min-punctuated-lines": {"a.\nb", 0.5}} {
		d := &extract.Document{Text: tc.text}
		for _, off := range []float64{-0.01, 0, 0.01} {
			f, err := New(Options{map[string]float64{name: tc.limit + off}})
			if err != nil {
				t.Fatal(err)
			}
			rejected := f.Check(d).Rule == name
			if want := strings.HasPrefix(name, "min-") && off > 0 || strings.HasPrefix(name, "max-") && off < 0; rejected != want {
				t.Errorf("%s with limit %g%+g: rejected is %v", name, tc.limit, off, rejected)
			}
		}
	}
}

func TestTheFirstRuleOfTheTableIsTheReason(t *testing.T) {
	limits := map[string]float64{}
	for _, r := range Rules() {
		if strings.HasPrefix(r.Name, "min-") {
			limits[r.Name] = 1e6
		}
	}
	f, err := New(Options{limits})
	if err != nil {
		t.Fatal(err)
	}
	d := &extract.Document{Text: "The words of a text and its rules.", Lang: "en"}
	for len(limits) > 0 {
		v := f.Check(d)
		at := slices.IndexFunc(Rules(), func(r Rule) bool { _, ok := limits[r.Name]; return ok })
		if v.Rule != Rules()[at].Name {
			t.Fatalf("got %q, want %q", v.Rule, Rules()[at].Name)
		}
		delete(limits, v.Rule)
		if f, err = New(Options{limits}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheShareOfTheLanguagesScript(t *testing.T) {
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		lang, text string
		want       float64
		ok         bool
	}{
		{"en", "Rivers run 123 ...", 1, true}, {"ru", "Реки run", 4.0 / 7, true}, {"en", "Реки run", 3.0 / 7, true},
		{"el", "Ποταμός", 1, true}, {"ja", "水の上テスト abc", 6.0 / 9, true}, {"zh", "水上の", 2.0 / 3, true}, {"ko", "강물 水", 1, true},
		{"sr", "река reka", 1, true}, {"sr-Latn", "река reka", 0.5, true}, {"simple", "river", 1, true}, {"hi", "नदी", 1, true},
		{"", "river", 0, false}, {"xx-nonsense", "river", 0, false}, {"en", "123 !", 0, false}, {"ar", "نهر", 1, true}, {"he", "נהר", 1, true},
		{"am", "ወንዝ", 1, true}, {"zh-min-nan", "khe-á", 1, true}, {"th", "แม่น้ำ", 1, true},
	} {
		got, ok := f.Measure(&extract.Document{Text: tc.text, Lang: tc.lang}, "min-script-share")
		if ok != tc.ok || ok && math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s %q: got %v, %v, want %v, %v", tc.lang, tc.text, got, ok, tc.want, tc.ok)
		}
	}
}

func TestOptionsSayAllThatIsWrong(t *testing.T) {
	err := Options{map[string]float64{"min-word": 3, "max-words": -1, "max-short-lines": math.NaN()}}.Validate()
	for _, want := range []string{`unknown rule "min-word", did you mean min-words`, "rule max-words: limit -1", "rule max-short-lines: limit NaN"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := SetLimits("gofer"); err == nil || !strings.Contains(err.Error(), "gopher-quality") {
		t.Errorf("unknown set: got %v", err)
	}
}

func TestHostileTextsTakeLinearTimeAndBoundedTables(t *testing.T) {
	limits := map[string]float64{}
	for _, r := range Rules() {
		if limits[r.Name] = 0; strings.HasPrefix(r.Name, "max-") {
			limits[r.Name] = 1e18
		}
	}
	f, err := New(Options{limits})
	if err != nil {
		t.Fatal(err)
	}
	for name, unit := range map[string]string{"one word": "t", "one line": "tT ju ", "lines": "t\n", "blank lines": "\n \n", "marks": ".", "blanks": " \t",
		"ideographs": "水", "quotes": "x.\"", "phrases": "use of cook "} {
		size := 1 << 20
		if name == "one line" {
			size = 5 << 20 // over maxUnits words
		}
		d := &extract.Document{Text: strings.Repeat(unit, size/len(unit)), Lang: "en"}
		start := time.Now()
		if v := f.Check(d); v.Rule != "" {
			t.Errorf("%s: rejected by %v", name, v)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if got := len(f.text.grams.hashes); got > maxUnits {
			t.Errorf("%s: %d words are held", name, got)
		}
		if got := len(f.text.grams.seen.keys); got > 2*maxUnits {
			t.Errorf("%s: a table of %d", name, got)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("The river.\nThe river.\n\n• and {…", "en")
	f.Add("水の上。\x00\n\u3000\n", "ja")
	f.Add("\xff\xfe", "ru")
	limits, err := SetLimits(Sets...)
	if err != nil {
		f.Fatal(err)
	}
	limits["min-script-share"] = 0.5
	f.Fuzz(func(t *testing.T, text, lang string) {
		if len(text) > 10_000 { // plain implementations are slow
			return
		}
		filter, err := New(Options{limits})
		if err != nil {
			t.Fatal(err)
		}
		d := &extract.Document{Text: strings.ToValidUTF8(text, "?"), Lang: lang}
		v := filter.Check(d)
		if v != filter.Check(d) {
			t.Fatal("a second look says otherwise")
		}
		for _, r := range Rules() {
			value, ok := filter.Measure(d, r.Name)
			if ok && (math.IsNaN(value) || value < 0) {
				t.Fatalf("%s is %v", r.Name, value)
			}
			limit, asked := limits[r.Name]
			if r.Name == v.Rule {
				if !ok || value != v.Value || !r.rejects(value, limit) {
					t.Fatalf("rejected by %v, measured again %v", v, value)
				}
				return
			}
			if asked && ok && r.rejects(value, limit) {
				t.Fatalf("%s should have rejected %v, got %v", r.Name, value, v)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	limits, err := SetLimits(Sets...)
	if err != nil {
		b.Fatal(err)
	}
	f, err := New(Options{limits})
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "The river number %d runs with its boats to the sea of %d islands, and that is where they have to be.\n", i, i*i)
		fmt.Fprintf(&text, "Nobody knows %d things about %d towns that lie on it. They are old.\n", i*7, i*i*3)
	}
	d := &extract.Document{Text: text.String(), Lang: "en"}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		f.Check(d)
	}
}
