package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/powerloss"
	"pretext/internal/dev/torture"
	"pretext/pipeline/convert"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// The stages of a run one after the other are more than the sum of these rows:
// each trusts what the one before it left.
func powerRows(t *testing.T, c RunConfig) []faultRow {
	whole := faultRow{name: "run", do: func(_, out string) error {
		c := c
		c.Out = out
		_, err := Run(context.Background(), oneWorker, c)
		return err
	}}
	converted := faultRow{name: "run and conversion", do: func(base, out string) error {
		if err := whole.do(base, out); err != nil {
			return err
		}
		for _, format := range []string{"mds", "parquet"} {
			_, err := convert.Run(context.Background(), oneWorker, convert.Config{Target: stage.Target{Out: filepath.Join(out, format)},
				Shards: filepath.Join(out, sharding.ShardsFolder), Format: format, Split: sharding.Train})
			if err != nil {
				return err
			}
		}
		return nil
	}}
	return append(faultRows(t, c), converted)
}

func TestWhateverAPowerFailureTakesTheNextRunEndsAsIfItHadNot(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing after the other: the race detector would see nothing")
	}
	base := t.TempDir()
	c := faultConfig(t, base)
	makeFaultBase(t, base, c)
	random := torture.Random(t)
	for _, row := range powerRows(t, c) {
		t.Run(row.name, func(t *testing.T) { row.powerFails(t, base, random) })
	}
}

// powerFails cuts the row's work off at many moments and lets the next run find
// what is left.
func (row faultRow) powerFails(t *testing.T, base string, random *rand.Rand) {
	root := fastDir(t)
	out := filepath.Join(root, "out")
	if row.before != nil {
		row.before(t, base, out)
	}
	recorder, err := powerloss.Record(root)
	if err != nil {
		t.Fatal(err)
	}
	err = row.do(base, out)
	log, stopErr := recorder.Stop()
	if err := errors.Join(err, stopErr); err != nil {
		t.Fatal(err)
	}
	want := tree(t, out)
	last := log.Len() - 1
	row.wasDurable(t, log, last, want)
	for _, at := range moments(t, log.Len(), random) {
		dir := fastDir(t)
		if err := log.Restore(at.moment, dir, at.fate); err != nil {
			t.Fatal(err)
		}
		where := log.At(at.moment) + ", " + at.fate.Name
		onlyWhole(t, where, log, dir)
		out := filepath.Join(dir, "out")
		manifestHolds(t, where, out)
		if err := row.do(base, out); err != nil {
			t.Errorf("%s: the next run: %v", where, err)
		} else if diff := cmp.Diff(want, tree(t, out)); diff != "" {
			t.Errorf("%s: other files than of an undisturbed run (-want +got):\n%s", where, diff)
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d moments", log.Len())
}

// A powerFailure is a moment, and what happens to data that is not synced then.
type powerFailure struct {
	moment int
	fate   powerloss.Fate
}

// moments returns all failures under torture, otherwise a few.
func moments(t *testing.T, n int, random *rand.Rand) (list []powerFailure) {
	fates := append(slices.Clip(powerloss.Fates), powerloss.Chance(random))
	if !torture.Long() {
		for range torture.Times(t, "PRETEXT_POWER_FAILURES", 2, 0) {
			list = append(list, powerFailure{random.IntN(n), fates[random.IntN(len(fates))]})
		}
		return list
	}
	for at := range n {
		for _, fate := range append(fates, fates[len(fates)-1]) { // chance twice
			list = append(list, powerFailure{at, fate})
		}
	}
	return list
}

// wasDurable checks that the files of a finished run survive a later power
// failure: only removals may be undone.
func (row faultRow) wasDurable(t *testing.T, log *powerloss.Log, last int, want map[string]string) {
	t.Helper()
	for _, fate := range powerloss.Fates {
		dir := fastDir(t)
		if err := log.Restore(last, dir, fate); err != nil {
			t.Fatal(err)
		}
		got := tree(t, filepath.Join(dir, "out"))
		for name := range got {
			if _, ok := want[name]; !ok && strings.HasPrefix(filepath.Base(name), ".") {
				delete(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after the run had ended, %s: other files than it had left (-want +got):\n%s", fate.Name, diff)
		}
		manifestHolds(t, "after the run had ended, "+fate.Name, filepath.Join(dir, "out"))
	}
}

// onlyWhole checks that every file under a final name has content that it had
// at some moment of the run.
func onlyWhole(t *testing.T, where string, log *powerloss.Log, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || strings.Contains(path, string(filepath.Separator)+".") {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		if err == nil && !log.Held(rel, b) {
			t.Errorf("%s: %s has contents that it never had: %d bytes", where, rel, len(b))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
