package wikitext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func textOf(o Options, src string) string {
	return string(NewScanner(o).AppendText(nil, []byte(src), Page{}))
}

func TestOptionsDropWhatTheyName(t *testing.T) {
	const page = "a <math>x</math> b\n== h ==\nc\n* d\n: e\n<source lang=go>f</source>\n== References ==\ng\n"
	tests := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"default", func(*Options) {}, "a b\nh\nc\nd\ne"},
		{"no headings", func(o *Options) { o.Headings = false }, "a b\nc\nd\ne"},
		{"no lists", func(o *Options) { o.Lists = false }, "a b\nh\nc"},
		{"back matter", func(o *Options) { o.BackMatter = true }, "a b\nh\nc\nd\ne\nReferences\ng"},
		{"code", func(o *Options) { o.Code = true }, "a b\nh\nc\nd\ne\nf"},
		{"math", func(o *Options) { o.Math = "[formula]" }, "a [formula] b\nh\nc\nd\ne"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := DefaultOptions()
			test.change(&o)
			if diff := cmp.Diff(test.want, textOf(o, page)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAHeadingWhoseOnlyListIsDroppedVanishes(t *testing.T) {
	o := DefaultOptions()
	o.Lists = false
	if got, want := textOf(o, "a\n== h ==\n* b\n== i ==\nc"), "a\ni\nc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValidateReportsEveryProblem(t *testing.T) {
	err := Options{Math: strings.Repeat("\n", 40)}.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v, want two problems", err)
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Errorf("default options: %v", err)
	}
}

func TestNewScannerRefusesInvalidOptions(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewScanner(Options{Math: "\xff"})
}

func TestTextBeforeIsNotTouched(t *testing.T) {
	s := NewScanner(DefaultOptions())
	for _, src := range []string{"", " a ", "), b", "{{x}}, b", "\n\n", "'''''a", "{{x}}) b", "== h ==\n"} {
		const before = "before ( \n "
		got := string(s.AppendText([]byte(before), []byte(src), Page{}))
		want := before + string(s.AppendText(nil, []byte(src), Page{}))
		if got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}

func TestAWarmScannerDoesNotAllocate(t *testing.T) {
	src := []byte(strings.Repeat("The '''Hill''' ({{IPAc-en|x}}, {{langx|de|Berg}}) of {{convert|1234|m|ft}} in [[Land (x)|land]] and [[%41 b]].<ref name=a>b</ref> "+
		"{{nowrap|a ''b'' {{as of|2010|5}}}} {{circa|1350|1400}} {{uc:abc}} {{val|5|1|u=km}} &eacute;&#8212; {{birth date|1950|1|2}} {{unknown}} {{lang-ru|x}}\n"+
		"== Head ==\n* item [http://x.org label]\n; a : b\n{|\n|c\n|}\n{{quote|text\n\nmore}}\n<pre>x</pre>\n{{zh|c=x}} {{s|XIX|e}} {{USS|A|B}} {{sclass|A|b}}\n\n", 20))
	s := NewScanner(DefaultOptions())
	text := s.AppendText(nil, src, Page{})
	allocs := testing.AllocsPerRun(10, func() { text = s.AppendText(text[:0], src, Page{}) })
	if allocs > 0 {
		t.Errorf("%v allocations a page, want none", allocs)
	}
}

func TestADumpedTemplateNameIsCounted(t *testing.T) {
	s := NewScanner(DefaultOptions())
	s.AppendText(nil, []byte("{{Foo bar}} {{foo_bar|1}} {{Baz\n|x=1}} {{cite web|x}} {{convert|1|m}}"), Page{})
	got := map[string]int{}
	for name, n := range s.Dropped() {
		got[name] = n
	}
	if diff := cmp.Diff(map[string]int{"foo bar": 2, "baz": 1}, got); diff != "" {
		t.Error(diff)
	}
}
