package rendering

import (
	"slices"
	"strings"
	"testing"
)

func TestBuiltinFilesParseAndAreSorted(t *testing.T) {
	names, err := data.ReadDir("data")
	if err != nil || len(names) == 0 {
		t.Fatal(len(names), err)
	}
	for _, n := range names {
		text, err := data.ReadFile("data/" + n.Name())
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(n.Name(), text)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), "# Source: ") {
			t.Errorf("%s: names no source", n.Name())
		}
		scope := strings.TrimSuffix(n.Name(), ".txt")
		for k, e := range f.Entries {
			if e.Scope != scope {
				t.Errorf("%s:%d: scope %s in the file of %s", n.Name(), e.Line, e.Scope, scope)
			}
			line := func(e Entry) string { return string(e.Kind) + " " + e.Name + " | " }
			if k > 0 && line(f.Entries[k-1]) > line(e) {
				t.Errorf("%s:%d: %s %s is not sorted", n.Name(), e.Line, e.Kind, e.Name)
			}
			if e.Kind == Template && e.Value != "" && e.Rule.String() != e.Value {
				t.Errorf("%s:%d: %s: the rule is written %s", n.Name(), e.Line, e.Value, e.Rule)
			}
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
	if got := NewSet(a).Table("de", "").Countries["ZZQ"]; got != "" {
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
				if _, err := parseRule(e.Rule.String()); err != nil {
					t.Errorf("%s: %v", e.Rule, err)
				}
			}
			table.Template([]byte(e.Name))
		}
	})
}
