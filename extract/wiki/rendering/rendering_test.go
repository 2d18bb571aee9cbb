package rendering

import (
	"slices"
	"strings"
	"testing"
)

func TestBuiltinFilesParseAndAreSorted(t *testing.T) {
	files := 0
	for _, folder := range dataFolders {
		names, err := data.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if !n.IsDir() {
				files++
				checkFile(t, folder+"/"+n.Name())
			}
		}
	}
	if files < 100 {
		t.Errorf("%d files, want more than 100", files)
	}
}

// Names of months that stand alone are those of their own language: hardly two languages share
// one that differs from the name in a date.
func TestMonthsThatStandAloneAreOfTheLanguage(t *testing.T) {
	names, err := data.ReadDir("data/cldr")
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string][]string{}
	for _, n := range names {
		text, err := data.ReadFile("data/cldr/" + n.Name())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if strings.HasPrefix(line, "month-alone 01 ") {
				languages[line] = append(languages[line], n.Name())
			}
		}
	}
	for line, list := range languages {
		if len(list) > 3 {
			t.Errorf("%s: in %v", line, list)
		}
	}
	if len(languages) < 20 {
		t.Errorf("%d names, want 20", len(languages))
	}
}

func checkFile(t *testing.T, name string) {
	text, err := data.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(name, text)
	if err != nil {
		t.Error(err)
		return
	}
	if !strings.Contains(string(text), "# Source: ") {
		t.Errorf("%s: names no source", name)
	}
	scope := strings.TrimSuffix(name[strings.LastIndex(name, "/")+1:], ".txt")
	for k, e := range f.Entries {
		if e.Scope != scope {
			t.Errorf("%s:%d: scope %s in the file of %s", name, e.Line, e.Scope, scope)
		}
		line := func(e Entry) string { return string(e.Kind) + " " + e.Name + " | " }
		if k > 0 && line(f.Entries[k-1]) > line(e) {
			t.Errorf("%s:%d: %s %s is not sorted", name, e.Line, e.Kind, e.Name)
		}
		if e.Kind == Date && e.Name != "era" && strings.Contains(e.Value, "{era}") {
			t.Errorf("%s:%d: %s: nothing fills in the era", name, e.Line, e.Value)
		}
		if e.Kind == Template && e.Value != "" && e.Rule.String() != e.Value {
			t.Errorf("%s:%d: %s: the rule is written %s", name, e.Line, e.Value, e.Rule)
		}
	}
}

func TestInvalidLinesAreReportedWithFileAndLine(t *testing.T) {
	for line, want := range map[string]string{
		"template x | arg 1":                    "no scope",
		"[all]\nnonsense x | y":                 `unknown kind "nonsense"`,
		"[all]\ntemplate x arg":                 "want template NAME | VALUE",
		"[all]\ntemplate | arg 1":               "want template NAME | VALUE",
		"[all]\ntemplate x | fly 1":             `unknown operation "fly"`,
		"[all]\ntemplate x | arg":               "the number of an argument is missing",
		"[all]\ntemplate x | arg 10":            `"10" is not the number of an argument`,
		"[all]\ntemplate x | arg one":           `"one" is not the number of an argument`,
		"[all]\ntemplate x | text":              "the text is missing",
		"[all]\ntemplate x | text \"a":          "not a quoted text",
		"[all]\ntemplate x | text \"\\n\"":      "not one line",
		"[all]\ntemplate x | quoted 1 \"a\"":    `no "|" between`,
		"[All]":                                 "not a scope",
		"[all":                                  "not a scope",
		"[all]\ncountry DE | \"a":               "not a quoted text",
		"[all]\ncountry DE | a\ncountry DE | b": "line 2 has it already",
		"[all]\ncountry D\xff | b":              "not valid UTF-8",
	} {
		_, err := Parse("f.txt", []byte(line+"\n"))
		number := strings.Count(line, "\n") + 1
		if err == nil || !strings.HasPrefix(err.Error(), "f.txt:"+string(rune('0'+number))+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want line %d and %q", line, err, number, want)
		}
	}
}

func TestNarrowerScopesAndLaterFilesTakePrecedence(t *testing.T) {
	parse := func(name, text string) *File {
		f, err := Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a := parse("a", "[all]\ntemplate zq | arg 1\ntemplate zq* | arg 2\ntemplate zq-*-x | arg 3\ncountry ZZQ | all\n[de]\ntemplate zq | arg 4\ncountry ZZQ | \"\"\n[dewiki]\ntemplate zq | arg 5\n")
	b := parse("b", "\ufeff# later\n[all]\r\ntemplate zq | arg 6\n[de]\ntemplate zqy | \"\"\ntemplate zq* | \"\"\n")
	for _, c := range []struct {
		lang, wiki, name string
		files            []*File
		want             int
	}{
		{"", "", "zq", []*File{a}, 1}, {"en", "enwiki", "zq", []*File{a}, 1}, {"en", "", "zqy", []*File{a}, 2},
		{"en", "", "zq-1-x", []*File{a}, 3}, {"de", "", "zq", []*File{a}, 4}, {"de-AT", "", "zq", []*File{a}, 4},
		{"de", "dewiki", "zq", []*File{a}, 5}, {"en", "", "zq", []*File{a, b}, 6}, {"de", "", "zq", []*File{a, b}, 4},
		{"de", "", "zqy", []*File{a, b}, 0},
	} {
		r, _ := NewSet(c.files...).Table(c.lang, c.wiki).Template([]byte(c.name))
		if r.N != c.want {
			t.Errorf("{{%s}} in %s %s: argument %d, want %d", c.name, c.lang, c.wiki, r.N, c.want)
		}
	}
	if got := NewSet(a).Table("de", "").Text(Country, "ZZQ"); got != "" {
		t.Errorf("a removed country is %q", got)
	}
}

func TestEveryOperationHasAName(t *testing.T) {
	for op, name := range opNames {
		if name == "" || slices.Index(opNames[:], name) != op {
			t.Errorf("operation %d has the name %q", op, name)
		}
	}
	if len(opNames) != int(OpVariable) {
		t.Errorf("%d names of %d operations", len(opNames), OpVariable)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("# c\n[all]\ntemplate a | arg 1 \"x\"\ncountry DE | \" a \"\n[de]\ntemplate * | text \"*\"\ntemplate *a | drop\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("f", text)
		if err != nil {
			return
		}
		table := NewSet(file).Table("de", "dewiki")
		for _, e := range file.Entries {
			if e.Kind == Template && e.Value != "" {
				if _, err := ParseRule(e.Rule.String()); err != nil {
					t.Errorf("%s: %v", e.Rule, err)
				}
			}
			table.Template([]byte(e.Name))
		}
	})
}

func TestNamesAreInTheLanguageOfTheWiki(t *testing.T) {
	for _, c := range []struct{ lang, german, usa string }{
		{"en", "German", "United States"}, {"uk", "німецька", "США"}, {"zh", "德语", "美国"}, {"zh-Hant", "德文", "美國"},
		{"nb", "tysk", "USA"}, {"no", "tysk", "USA"}, {"fr", "allemand", "États-Unis"},
		// CLDR would offer French, Italian and nothing.
		{"oc", "", ""}, {"la", "", ""}, {"ba", "", ""}, {"simple", "", ""}, {"", "German", "United States"},
	} {
		table := NewSet().Table(c.lang, "")
		if got := table.LanguageName([]byte("de")); got != c.german {
			t.Errorf("%s: German is %q, want %q", c.lang, got, c.german)
		}
		for _, code := range []string{"USA", "US"} {
			if got := table.CountryName([]byte(code)); got != c.usa {
				t.Errorf("%s: %s is %q, want %q", c.lang, code, got, c.usa)
			}
		}
		if got := table.CountryName([]byte("United States")); c.lang != "en" && c.lang != "" && got != c.usa {
			t.Errorf("%s: United States is %q, want %q", c.lang, got, c.usa)
		}
	}
}
