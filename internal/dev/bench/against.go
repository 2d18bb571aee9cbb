package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A comparison measures prepare-data run of two programs with the same input.
type comparison struct {
	Machine machine  `json:"machine"`
	Load    []string `json:"load"` // one-minute load average before the first round and after each
	Inputs  []string `json:"inputs"`
	Flags   []string `json:"flags"` // of both programs
	Then    *program `json:"then"`
	Now     *program `json:"now"`
	Same    string   `json:"same"` // how far the outputs are equal
}

// A program is one side of a comparison.
type program struct {
	Binary string       `json:"binary"`
	Flags  []string     `json:"flags,omitempty"` // of this program alone
	Runs   []programRun `json:"runs"`

	files map[string][sha256.Size]byte // the output of the last run, by name
}

// A programRun is one run of a program: CPU times in seconds, of the whole run
// and by stage.
type programRun struct {
	sample
	CPUSeconds float64            `json:"cpu_seconds"`
	Stages     map[string]float64 `json:"stages"`
}

// wholeRunName is the name of the whole run among the stages.
const wholeRunName = "whole run"

// compare runs two programs in turns, o.rounds times. Every second round begins with
// the other program, so that neither always runs second.
func compare(ctx context.Context, o options, dir string, progress io.Writer) (*comparison, error) {
	if len(o.runFlags) == 0 {
		o.runFlags = []string{"--shards", "8"} // the default differs between versions
	}
	c := &comparison{Machine: describe(), Inputs: inputs(o), Flags: o.runFlags, Load: []string{load()},
		Then: &program{Binary: o.against}, Now: &program{Binary: o.binary, Flags: o.nowFlags}}
	turn := []*program{c.Then, c.Now}
	for round := range o.rounds {
		for _, p := range turn {
			fmt.Fprintf(progress, "round %d of %d: %s: ", round+1, o.rounds, p.Binary)
			if err := p.run(ctx, o, filepath.Join(dir, "run")); err != nil {
				return nil, err
			}
			fmt.Fprintf(progress, "%.2f s of CPU time\n", p.Runs[len(p.Runs)-1].CPUSeconds)
		}
		c.Same = sameFiles(c.Then.files, c.Now.files)
		c.Load = append(c.Load, load())
		slices.Reverse(turn)
	}
	return c, nil
}

// run runs the program once and adds the measurement.
func (p *program) run(ctx context.Context, o options, out string) error {
	defer os.RemoveAll(out)
	o.binary = p.Binary
	stages, s, err := runInto(ctx, o, out, append(slices.Clone(o.runFlags), p.Flags...)...)
	if err != nil {
		return err
	}
	r := programRun{sample: s, CPUSeconds: s.CPU.Seconds(), Stages: map[string]float64{wholeRunName: s.CPU.Seconds()}}
	for _, stage := range stages {
		r.Stages[stage.Stage] = stage.CPU
	}
	p.Runs = append(p.Runs, r)
	p.files, err = hashFiles(out)
	return err
}

// hashFiles returns the SHA-256 of each file below dir, by its name relative to
// dir. It ignores run.json, which has times.
func hashFiles(dir string) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "run.json" {
			return err
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return err
		}
		sums[name] = [sha256.Size]byte(h.Sum(nil))
		return nil
	})
	return sums, err
}

// differentRecords is the beginning of the verdict if two outputs have different
// records.
const differentRecords = "DIFFERENT RECORDS"

// sameFiles describes how far two outputs are equal. Manifests and plans of two
// versions may differ where the records do not.
func sameFiles(then, now map[string][sha256.Size]byte) string {
	all := maps.Clone(then)
	maps.Copy(all, now)
	var different []string
	records := false
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, before := then[name]
		b, after := now[name]
		if !before || !after || a != b {
			different = append(different, name)
			records = records || strings.Contains(name, ".tfrecord")
		}
	}
	const shown = 5
	list := strings.Join(different[:min(shown, len(different))], ", ")
	switch {
	case len(different) == 0:
		return fmt.Sprintf("all of %d files are equal", len(all))
	case records:
		return fmt.Sprintf("%s: %d of %d files differ: %s", differentRecords, len(different), len(all), list)
	}
	return fmt.Sprintf("records are equal; %d of %d files differ: %s", len(different), len(all), list)
}

// err returns an error if the two programs made different records.
func (c *comparison) err() error {
	if strings.HasPrefix(c.Same, differentRecords) {
		return errors.New(c.Same)
	}
	return nil
}

// rows returns the table: a header, and a row for the whole run and each stage.
func (c *comparison) rows() [][]string {
	rows := [][]string{{"CPU seconds of", "then", "now", "now / then, medians", "minima", "within a round"}}
	for _, name := range wholeFirst(c.Now.Runs[0].Stages) {
		then, now := c.Then.seconds(name), c.Now.seconds(name)
		var ratios []float64
		for i := range then {
			ratios = append(ratios, now[i]/then[i])
		}
		a, b := spreadOf(then), spreadOf(now)
		rows = append(rows, []string{name, a.String(), b.String(), figure(b.Median / a.Median), figure(b.Min / a.Min), spreadOf(ratios).String()})
	}
	return rows
}

// wholeFirst returns the names of stages in order, after that of the whole run.
func wholeFirst[V any](stages map[string]V) []string {
	names := slices.Sorted(maps.Keys(stages))
	if i := slices.Index(names, wholeRunName); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, wholeRunName)
	}
	return names
}

// seconds returns the CPU seconds of a stage in each run.
func (p *program) seconds(stage string) (all []float64) {
	for _, r := range p.Runs {
		all = append(all, r.Stages[stage])
	}
	return all
}

// facts returns a line on each program: its records and its peak memory.
func (c *comparison) facts() (lines []string) {
	for _, p := range []*program{c.Then, c.Now} {
		last := p.Runs[len(p.Runs)-1]
		var peaks, each []float64
		for _, r := range p.Runs {
			peaks = append(peaks, float64(r.PeakRSS)/1e6)
			each = append(each, r.perRecord())
		}
		lines = append(lines, fmt.Sprintf("%s: %d records, %v µs of CPU each, peak memory %v MB", p.Binary, last.Records, spreadOf(each), spreadOf(peaks)))
	}
	return append(lines, "output: "+c.Same)
}

func (c *comparison) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, c)
	}
	fmt.Fprintf(w, "%s; %s; %d rounds in turns: median (least–greatest) of CPU seconds, user and system;\n",
		c.Machine, time.Now().UTC().Format("2006-01-02 15:04 UTC"), len(c.Now.Runs))
	fmt.Fprintf(w, "load average before and after each round %s; input: %s; flags: %s\n\n",
		strings.Join(c.Load, ", "), strings.Join(c.Inputs, ", "), strings.Join(slices.Concat(c.Flags, c.Now.Flags), " "))
	if err := writeTable(w, c.rows()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(c.facts(), "\n"))
	return err
}
