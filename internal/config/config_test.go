package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var testFlags = map[string][]string{
	"run":      {"workers", "max-seq-length", "wiki-dump", "books"},
	"examples": {"workers", "max-seq-length", "vocab"},
	"verify":   {"workers", "max-problems"},
}

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestACommandsKeysWinOverThoseOfAll(t *testing.T) {
	f := parse(t, "workers: 4\nbooks: [b, a]\nmax_seq_length: 128\nexamples:\n  max-seq-length: 512\n  vocab: v.txt\n")
	if err := f.Check(testFlags); err != nil {
		t.Fatal(err)
	}
	want := []Setting{{"workers", []string{"4"}, "f.yaml line 1"}, {"books", []string{"b", "a"}, "f.yaml line 2"},
		{"max-seq-length", []string{"512"}, "f.yaml line 5"}, {"vocab", []string{"v.txt"}, "f.yaml line 6"}}
	if d := cmp.Diff(want, f.For("examples")); d != "" {
		t.Error(d)
	}
	if got := f.For("run"); len(got) != 3 || got[2].Values[0] != "128" {
		t.Errorf("run: got %v", got)
	}
}

func TestValuesAreTakenAsTheyAreWritten(t *testing.T) {
	f := parse(t, "a: 1_000\nb: 0.10\nc: \"yes\"\nd: true\ne: 'x: y'\nf: 2026-11-21\ng: []\n")
	want := []string{"[1_000]", "[0.10]", "[yes]", "[true]", "[x: y]", "[2026-11-21]", "[]"}
	for i, s := range f.For("") {
		if got := fmt.Sprint(s.Values); got != want[i] {
			t.Errorf("%s: got %s, want %s", s.Key, got, want[i])
		}
	}
}

func TestWrongFilesAreToldWithTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"workers: 4\nmax_seq_lenght: 128\n":      `f.yaml line 2: unknown key "max-seq-lenght", did you mean "max-seq-length"?`,
		"worker: 4\n":                            `f.yaml line 1: unknown key "worker", did you mean "workers"?`,
		"zzz: 4\n":                               `f.yaml line 1: unknown key "zzz"`,
		"verify:\n  vocab: x\n":                  `f.yaml line 2: unknown key "vocab"`,
		"exampels:\n  vocab: x\n":                `below "exampels": not a command, did you mean "examples"?`,
		"workers: 4\nworkers: 5\n":               `f.yaml line 2: workers again: it is set in line 1`,
		"max_seq_length: 1\nmax-seq-length: 2\n": `f.yaml line 2: max-seq-length again: it is set in line 1`,
		"- a\n":                                  `f.yaml line 1: must be a list of "key: value"`,
		"workers: [[1]]\n":                       "workers: must be a value or a list of values",
		"workers:\n":                             "workers: must be a value or a list of values",
		"a: &x 1\nb: *x\n":                       "b: must be a value",
		"? [a]\n: b\n":                           "a key must be the name of a flag",
		"a: b: c\n":                              "f.yaml: ",
		"a: 1\n---\nb: 2\n":                      "more than one document",
		"\tworkers: 4\n":                         "f.yaml: ",
		"examples:\n  a: {b: c}\n":               "a: must be a value",
	} {
		f, err := Parse("f.yaml", []byte(text))
		if err == nil {
			err = f.Check(testFlags)
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n"} {
		if f, err := Parse("f.yaml", []byte(text)); err != nil || len(f.For("run")) != 0 {
			t.Errorf("%q: got %v, %v", text, f, err)
		}
	}
}

func TestTheEnvironmentIsReadByItsPrefix(t *testing.T) {
	env := []string{"PATH=/bin", "PRETEXT_WORKERS=3", "PRETEXT_DATA=/d", "PRETEXT_BOOKS=a\nb", "XPRETEXT_A=1"}
	got := Environment("PRETEXT_", env, []string{"DATA"})
	want := []Setting{{"books", []string{"a", "b"}, "PRETEXT_BOOKS"}, {"workers", []string{"3"}, "PRETEXT_WORKERS"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := CheckEnvironment(got, testFlags); err != nil {
		t.Error(err)
	}
	err := CheckEnvironment(Environment("PRETEXT_", []string{"PRETEXT_MAX_SEQ_LENGHT=1"}, nil), testFlags)
	if want := "PRETEXT_MAX_SEQ_LENGHT: this environment variable is no setting, did you mean PRETEXT_MAX_SEQ_LENGTH?"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestACommandOfTwoWordsTakesTheSectionsOfBoth(t *testing.T) {
	f, err := Parse("f.yaml", []byte("a: 1\nb: 1\nc: 1\nfine:\n  b: 2\n  c: 2\nfine tune:\n  c: 3\ntune:\n  a: 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range f.For("fine tune") {
		got[s.Key] = s.Values[0]
	}
	if d := cmp.Diff(map[string]string{"a": "1", "b": "2", "c": "3"}, got); d != "" {
		t.Error(d)
	}
	if got := f.For("fine")[2].Values; len(got) != 1 || got[0] != "2" {
		t.Errorf("the first word alone: c is %v, want 2", got)
	}
}

func TestVariablesOfAnotherProgramAreLeftOut(t *testing.T) {
	env := []string{"PRETEXT_BERT_SEED=1", "PRETEXT_BERTA=2", "PRETEXT_DATA=3", "PRETEXT_DATA_X=4"}
	var names []string
	for _, s := range Environment("PRETEXT_", env, []string{"DATA", "BERT_"}) {
		names = append(names, s.Key)
	}
	if d := cmp.Diff([]string{"berta", "data-x"}, names); d != "" {
		t.Error(d)
	}
}

func TestTheNearestNameIsMeant(t *testing.T) {
	names := []string{"workers", "max-seq-length", "books", "vocab", "vocab-size", "out"}
	for name, want := range map[string]string{"wokers": "workers", "worksers": "workers", "wrokers": "workers", "max-seq-lenght": "max-seq-length",
		"max-seq": "max-seq-length", "vocabsize": "vocab-size", "vocb": "vocab", "ou": "out", "zebra": "", "": "", "x": ""} {
		if got, _ := Nearest(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// Whatever the file: an error with its name, or settings that say where they
// are from and are all known or not by what is known.
func FuzzParse(f *testing.F) {
	f.Add("workers: 4\nexamples:\n  vocab: v\n")
	f.Add("a: &a [*a]\n")
	f.Add("a: {b: c}\na b: {b: d}\n\"\": {e: f}\n\" a\": {e: f}\n")
	f.Add("a: {<<: {b: c}}\n")
	f.Add("books: [a, \"b\"]\n...\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("f.yaml", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml") {
				t.Fatalf("%v names no file", err)
			}
			return
		}
		known := map[string][]string{}
		for _, command := range append([]string{""}, file.order...) {
			seen := map[string]bool{}
			known[command] = nil
			for _, s := range file.For(command) {
				if seen[s.Key] || !strings.HasPrefix(s.Origin, "f.yaml line ") {
					t.Fatalf("%+v: twice, or from nowhere", s)
				}
				seen[s.Key] = true
				known[command] = append(known[command], s.Key)
			}
		}
		if err := file.Check(known); err != nil {
			t.Fatalf("its own keys: %v", err)
		}
	})
}

func ExampleParse() {
	_, err := Parse("run.yaml", []byte("workers: 4\nworkers: 8\n"))
	fmt.Println(err)
	f, err := Parse("run.yaml", []byte("workers: 4\nrun:\n  books: [a.txt, b.epub]\n"))
	fmt.Println(f.For("run"), err)
	// Output:
	// run.yaml line 2: workers again: it is set in line 1
	// [{workers [4] run.yaml line 1} {books [a.txt b.epub] run.yaml line 3}] <nil>
}
