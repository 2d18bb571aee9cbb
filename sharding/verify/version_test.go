package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/sharding"
	"pretext/sharding/export"
)

// The run in testdata was made before plan.json had version 2, when every task had
// a plan file of its own.
func TestAFolderOfPlanVersion1IsReadAndChecked(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(out, os.DirFS("testdata/plan-version-1")); err != nil {
		t.Fatal(err)
	}
	if v := check(t, out); !v.OK() {
		t.Fatalf("as it was made: got %v", v.Problems)
	}
	shards := filepath.Join(out, sharding.ShardsFolder)
	files, err := export.Text(t.Context(), export.Config{Shards: shards, Out: filepath.Join(out, "text")})
	if err != nil || len(files) != 2 || files[0].Documents+files[1].Documents != 3 {
		t.Errorf("as text: got %v, %v", files, err)
	}
	os.RemoveAll(filepath.Join(out, "text"))
	plans := filepath.Join(shards, sharding.PlanFolder)
	first, second := filepath.Join(plans, sharding.OldTaskFile(0)), filepath.Join(plans, sharding.OldTaskFile(1))
	a, b := readFile(t, first), readFile(t, second)
	for _, c := range []struct {
		file string
		raw  []byte
		want string
	}{
		{first, []byte(`{"blocks":[]}`), "plans 0 documents"},
		{first, append(a, ' '), "SHA-256 is not that in SHA256SUMS"},
		{second, nil, "missing"},
		{filepath.Join(plans, sharding.SumsName), []byte("x"), "SHA-256 is not that in plan.json"},
		{filepath.Join(plans, sharding.TasksName), []byte("x"), "no task has this plan"},
	} {
		old, err := os.ReadFile(c.file)
		os.Remove(c.file)
		if c.raw != nil {
			writeFile(t, plans, filepath.Base(c.file), c.raw)
		}
		if v := check(t, out); v.OK() || !strings.Contains(fmt.Sprint(v.Problems), c.want) {
			t.Errorf("%s: got %v, want %q", filepath.Base(c.file), v.Problems, c.want)
		}
		os.Remove(c.file)
		if err == nil {
			writeFile(t, plans, filepath.Base(c.file), old)
		}
	}
	sums := sharding.PlanSums([][]byte{b, a}) // the blocks of two shards, changed for each other
	writeFile(t, plans, filepath.Base(first), b)
	writeFile(t, plans, filepath.Base(second), a)
	writeFile(t, plans, sharding.SumsName, sums)
	plan := filepath.Join(shards, sharding.PlanName)
	text := strings.Replace(string(readFile(t, plan)), sharding.Hash(sharding.PlanSums([][]byte{a, b})), sharding.Hash(sums), 1)
	writeFile(t, shards, sharding.PlanName, []byte(text))
	v := check(t, out)
	if len(v.Problems) == 0 || !strings.Contains(v.Problems[len(v.Problems)-1].Reason, "not how these documents are dealt") {
		t.Errorf("swapped plans: got %v", v.Problems)
	}
}
