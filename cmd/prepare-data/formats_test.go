package main

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// lines returns the lines of a text that filter accepts, without repeated spaces,
// sorted.
func lines(text string, accept func(string) bool) (list []string) {
	for line := range strings.Lines(text) {
		if accept(line) {
			list = append(list, strings.Join(strings.Fields(line), " "))
		}
	}
	slices.Sort(list)
	return list
}

func always(string) bool { return true }

// figures returns the lines of stats without limits, sizes and locations of repeated
// records.
func figures(stats string) []string {
	limits, part := regexp.MustCompile(`,? *(must be|at least|!).*`), 0
	return lines(limits.ReplaceAllString(stats, ""), func(line string) bool {
		switch {
		case strings.Contains(line, "max_seq_length"):
			part = 1
		case strings.HasPrefix(line, "tokens of a record"):
			part = 2
		}
		in := part > 0
		if part == 1 && strings.Contains(line, "records that repeat") {
			part = 0
		}
		return in
	})
}

func same(ts *testscript.TestScript, what string, want, got []string) {
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		ts.Fatalf("%s: (-shards +format)\n%s", what, diff)
	}
}

func holds(ts *testscript.TestScript, what, text string, parts ...string) {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			ts.Fatalf("%s: no %q in %s", what, part, text)
		}
	}
}

// splits reports whether a format has a folder for each split.
func splits(ts *testscript.TestScript, dir string) bool {
	_, err := os.Stat(ts.MkAbs(dir + "/train"))
	return err == nil
}

const noneDiffer = "0 differ at the same place, 0 are only in a, 0 only in b"

// alike implements the script command "alike FORMAT...": it converts shards to each
// format, and requires that every command that reads examples prints the same for
// them as for the shards.
func alike(ts *testscript.TestScript, _ bool, formats []string) {
	fileName, aRecord := regexp.MustCompile(`"file":"[^"]*"`), regexp.MustCompile(`(?m)^records +16 `)
	aValue := regexp.MustCompile(`(int64|float)\[`).MatchString
	read := func(args ...string) string { return program.Output(ts, 0, args...) }
	records := func(dir string) []string {
		return lines(fileName.ReplaceAllString(read("head", dir, "--json", "-n", "0"), ""), always)
	}
	values := func(dir string) []string { return lines(read("inspect", dir, "--values"), aValue) }
	wantRecords, wantValues, wantStats := records("shards"), values("shards"), figures(read("stats", "shards", "--vocab", "vocab.txt"))
	for _, format := range formats {
		read("convert", "shards", "--to", format, "--out", format, "--quiet")
		read("verify", format)
		same(ts, format+": records", wantRecords, records(format))
		stats := read("stats", format, "--vocab", "vocab.txt")
		if !aRecord.MatchString(stats) {
			ts.Fatalf("%s: not 16 records in %s", format, stats)
		}
		same(ts, format+": stats", wantStats, figures(stats))
		holds(ts, format+": head", read("head", format, "-n", "1", "--vocab", "vocab.txt"), "[CLS]")
		holds(ts, format+": head", read("head", format, "-n", "1"), "record 0:")
		read("report", format, "--out", "report.html")
		holds(ts, format+": report", ts.ReadFile("report.html"), "next sentence is random")
		read("diff", format, format)
		if splits(ts, format) {
			continue
		}
		same(ts, format+": values", wantValues, values(format))
		holds(ts, format+": diff", program.Output(ts, 1, "diff", "shards", format), noneDiffer)
	}
}

// holdsRecipe implements the script command "holdsRecipe RECIPE FORMAT...": it makes
// shards by a recipe, and converts them, and TFRecord files without a manifest, to
// each format.
func holdsRecipe(ts *testscript.TestScript, _ bool, args []string) {
	read := func(args ...string) string { return program.Output(ts, 0, args...) }
	aForm := regexp.MustCompile(`^  (form|tokens|pieces|max)`).MatchString
	forms := func(dir string) []string {
		return lines(read("stats", dir, "--vocab", "vocab.txt"), aForm)
	}
	recipe := args[0]
	read("examples", "--text", "text.txt", "--vocab", "vocab.txt", "--recipe", recipe, "--max-seq-length", "32", "--eval-fraction", "0.5", "--shards", "1", "--out", recipe, "--quiet")
	want, bare := forms(recipe), "bare-"+recipe
	ts.Check(os.Mkdir(ts.MkAbs(bare), 0o777))
	for _, name := range []string{"/train-00000-of-00001.tfrecord", "/eval-00000-of-00001.tfrecord"} {
		ts.Check(os.WriteFile(ts.MkAbs(bare+name), []byte(ts.ReadFile(recipe+name)), 0o666))
	}
	for _, format := range args[1:] {
		out := recipe + "-" + format
		read("convert", recipe, "--to", format, "--out", out, "--quiet")
		read("verify", out)
		same(ts, out+": stats", want, forms(out))
		read("head", out, "-n", "1")
		holds(ts, out+": records", read("head", out, "--json", "-n", "0"), `"input_ids"`)
		read("convert", bare, "--to", format, "--out", "bare-"+out, "--quiet")
		read("verify", "bare-"+out)
		if splits(ts, out) {
			continue
		}
		holds(ts, out+": diff", program.Output(ts, 1, "diff", recipe, out), noneDiffer)
		if diff := program.Output(ts, 1, "diff", out, "bare-"+out); strings.Contains(diff, "records") {
			holds(ts, "bare-"+out+": diff", diff, noneDiffer)
		}
	}
}
