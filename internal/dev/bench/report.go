package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// A report is the result of a run.
type report struct {
	Machine machine   `json:"machine"`
	Started time.Time `json:"started"`
	Load    []string  `json:"load"` // one-minute load average before the first round and after each
	Inputs  []string  `json:"inputs"`
	Results []*result `json:"results"` // the baseline is the first
	Pairs   []pair    `json:"pairs,omitempty"`

	peers bool // other tools were measured
}

// A result holds a work's samples, one for each round.
type result struct {
	Name    string   `json:"name"`
	Of      string   `json:"of"`
	Samples []sample `json:"samples"`
}

// A pair compares a work of pretext with the same work of a peer (another
// tool). Same describes how far their outputs are equal.
type pair struct {
	Name string   `json:"name"`
	Ours string   `json:"ours"`
	Peer string   `json:"peer"`
	Must float64  `json:"must,omitempty"` // minimum speed ratio that pretext must keep; 0: none
	Same *verdict `json:"same"`
}

// A verdict describes how far two outputs agree. The measurement sets it.
type verdict struct {
	Text   string `json:"text"`
	Before string `json:"-"` // text in front of Text
}

func (r *report) result(name string) *result {
	for _, res := range r.Results {
		if res.Name == name {
			return res
		}
	}
	panic("BUG: no work " + name)
}

func (r *result) spread(figure func(sample) float64) spread {
	var values []float64
	for _, s := range r.Samples {
		values = append(values, figure(s))
	}
	return spreadOf(values)
}

// ratio returns the ratio of the speeds of two works, computed within each
// round.
func ratio(of, to *result) spread {
	var values []float64
	for i, s := range of.Samples {
		values = append(values, s.speed()/to.Samples[i].speed())
	}
	return spreadOf(values)
}

// workHeader is the header of the table of works.
var workHeader = []string{"work", "MB", "of", "MB/s a core", "× bzip2 -dc", "µs a record", "peak RSS MB"}

// row returns the row of a work.
func (r *report) row(res *result) []string {
	s := res.Samples[len(res.Samples)-1]
	row := []string{res.Name, figure(float64(s.Bytes) / 1e6), res.Of, res.spread(sample.speed).String(), ratio(res, r.Results[0]).String(), "", ""}
	if s.Records > 0 && (res.Of == "records" || res.Of == rowsOf128) {
		row[5] = fmt.Sprintf("%v of %d", res.spread(sample.perRecord), s.Records)
	}
	if s.PeakRSS > 0 {
		row[6] = figure(res.spread(func(s sample) float64 { return float64(s.PeakRSS) / 1e6 }).Median)
	}
	return row
}

// rows returns the table of works: a header and rows of cells.
func (r *report) rows() [][]string {
	rows := [][]string{workHeader}
	for _, res := range r.Results {
		rows = append(rows, r.row(res))
	}
	return rows
}

// pairRows returns the table of comparisons.
func (r *report) pairRows() [][]string {
	rows := [][]string{{"comparison", "ours, MB/s a core", "theirs, MB/s a core", "ratio", "wanted", "same work?"}}
	for _, p := range r.Pairs {
		ours, peer := r.result(p.Ours), r.result(p.Peer)
		times, want := ratio(ours, peer), ""
		if p.Must > 0 {
			want = fmt.Sprintf("≥ %g: ", p.Must)
			if times.Median >= p.Must {
				want += "kept"
			} else {
				want += "**missed**"
			}
		}
		rows = append(rows, []string{p.Name, figure(ours.spread(sample.speed).Median), figure(peer.spread(sample.speed).Median), times.String(), want, p.Same.Text})
	}
	return rows
}

// tables returns the tables that are not empty.
func (r *report) tables() [][][]string {
	tables := [][][]string{r.rows()}
	if len(r.Pairs) > 0 {
		tables = append(tables, r.pairRows())
	}
	return tables
}

func (s spread) String() string {
	return fmt.Sprintf("%s (%s–%s)", figure(s.Median), figure(s.Min), figure(s.Max))
}

// figure formats a number with three significant digits.
func figure(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// heading returns the heading of the tables.
func (r *report) heading() string {
	return fmt.Sprintf("%s;\n%s; input: %s", r.title(len(r.Results[0].Samples)), r.loads(), strings.Join(r.Inputs, ", "))
}

// title returns what is known before the first round.
func (r *report) title(rounds int) string {
	return fmt.Sprintf("%s; %s UTC, %d rounds: median (least–greatest), by CPU time", r.Machine, r.Started.Format("2006-01-02 15:04"), rounds)
}

func (r *report) loads() string {
	return "load average before and after each round " + strings.Join(r.Load, ", ")
}

// writeRows measures the works and writes the row of each as soon as it is complete, then
// the comparisons.
func (r *report) writeRows(ctx context.Context, works []*work, rounds int, stdout, progress io.Writer) error {
	fmt.Fprintf(stdout, "%s;\ninput: %s\n\n", r.title(rounds), strings.Join(r.Inputs, ", "))
	t := table{w: stdout}
	for _, w := range works {
		t.expect(w.name, anyFigure, w.of, anySpread, anySpread, anySpread+" of 999999")
	}
	err := r.measure(ctx, works, rounds, progress, func(i int) error {
		if i == 0 {
			t.write(workHeader)
		}
		return t.write(r.row(r.Results[i]))
	})
	if err != nil {
		return err
	}
	if len(r.Pairs) > 0 {
		fmt.Fprintln(stdout)
		if err := writeTable(stdout, r.pairRows()); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "\n%s\n", r.loads())
	return err
}

// Cells as wide as those of figures and spreads usually are.
const (
	anyFigure = "12.3"
	anySpread = "12.3 (10.1–14.5)"
)

// A table writes rows of cells in columns, one by one.
type table struct {
	w      io.Writer
	widths []int // of the columns
}

// expect makes columns wide enough for the cells of a row.
func (t *table) expect(cells ...string) {
	for i, c := range cells {
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(c))
	}
}

func (t *table) write(cells []string) error {
	t.expect(cells...)
	var line strings.Builder
	for i, c := range cells {
		fmt.Fprintf(&line, "%-*s  ", t.widths[i], strings.ReplaceAll(c, "**", ""))
	}
	_, err := fmt.Fprintln(t.w, strings.TrimRight(line.String(), " "))
	return err
}

// writeTable writes rows of cells in columns.
func writeTable(w io.Writer, rows [][]string) (err error) {
	t := table{w: w}
	for _, row := range rows {
		t.expect(row...)
	}
	for _, row := range rows {
		err = errors.Join(err, t.write(row))
	}
	return err
}

// writeJSON writes a result with every sample.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writePage replaces the part of the file at path between the marks for this
// kind of report.
func (r *report) writePage(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kind := "stages"
	if r.peers {
		kind = "peers"
	}
	before, rest, ok := strings.Cut(string(page), "<!-- bench "+kind+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- end -->\n")
	if !ok || !closed {
		return errors.New(path + ": no marks <!-- bench " + kind + " --> and <!-- end -->")
	}
	text := before + "<!-- bench " + kind + " -->\n" + r.markdown() + "<!-- end -->\n" + after
	return os.WriteFile(path, []byte(text), 0o644)
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n", r.heading())
	for _, rows := range r.tables() {
		b.WriteString("\n")
		for i, row := range rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
			}
		}
	}
	return b.String()
}
