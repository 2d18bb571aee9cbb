package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"pretext/counts"
)

// countsMark is the line before the generated table at the end of docs/file-format.md.
const countsMark = "<!-- The table is written by go generate ./cmd/internal/gencommands. -->\n"

// dataFlow lists the stages in the order in which they process the data.
var dataFlow = []string{"download", "templates", "extract", "lines", "signatures", "pairs", "filter", "vocab", "mix", "examples", "convert"}

// CountsTable returns the counts of all stages as a table in Markdown. Stages that declare
// the same count share a row.
func CountsTable() string {
	var rows []counts.Count
	in := map[counts.Count][]string{}
	for _, stage := range dataFlow {
		for _, k := range counts.OfStage(stage) {
			if len(in[k]) == 0 {
				rows = append(rows, k)
			}
			in[k] = append(in[k], stage)
		}
	}
	var b strings.Builder
	b.WriteString("\n| stages | count | meaning |\n|---|---|---|\n")
	for _, k := range rows {
		name := k.Key.String()
		if k.Family {
			name += ".REASON"
		}
		meaning := k.Meaning
		if k.Whole {
			meaning += "; in the manifest's totals only"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(in[k], ", "), name, meaning)
	}
	return b.String()
}

// writeCounts replaces the table in a page.
func writeCounts(path string) error {
	for _, stage := range counts.Stages() {
		if !slices.Contains(dataFlow, stage) {
			return fmt.Errorf("stage %q has no place in the data flow", stage)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, _, found := strings.Cut(string(page), countsMark)
	if !found {
		return fmt.Errorf("%s: no line %q", path, countsMark)
	}
	return os.WriteFile(path, []byte(head+countsMark+CountsTable()), 0o666)
}
