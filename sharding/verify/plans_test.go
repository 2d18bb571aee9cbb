package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pretext/pipeline"
	"pretext/sharding"
)

func TestAPlanThatDealsOtherwiseIsFound(t *testing.T) {
	out := smallRun(t, func(c *pipeline.RunConfig) {
		c.Sources = []pipeline.Source{{Kind: pipeline.KindWiki, Path: writeFile(t, t.TempDir(), "w.xml", dump(200))}}
		c.Examples.Shards = 2
	})
	dir := filepath.Join(out, sharding.ShardsFolder)
	data, err := sharding.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	shards, err := data.Shards(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var tasks []string
	for i := range 2 {
		var task json.RawMessage
		if err := sharding.ReadTask(t.Context(), shards, i, &task); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, string(task))
	}
	plan := string(readFile(t, filepath.Join(dir, sharding.PlanName)))
	for _, c := range []struct {
		tasks []string
		want  string
	}{
		{[]string{`{"blocks":""}`, tasks[1]}, "task 0: plans 0 documents"},
		{[]string{tasks[0], `{"blocks":"A"}`}, "task 1: "},
		{[]string{tasks[0], `{"blocks":[{"folder":0}]}`}, "task 1: plans 0 documents"},
		{tasks[:1], "1 tasks, plan.json says 2"},
		{[]string{tasks[1], tasks[0]}, "not how these documents are dealt"}, // every document is still planned once
		{nil, "missing"},
	} {
		if c.tasks == nil {
			os.Remove(filepath.Join(dir, sharding.PlanFolder, sharding.TasksName))
		} else {
			forgePlan(t, dir, plan, c.tasks)
		}
		if v := check(t, out); v.OK() || !strings.Contains(fmt.Sprint(v.Problems), c.want) || !strings.Contains(v.Problems[0].File, sharding.TasksName) {
			t.Errorf("%.60q: got %v, want %q", c.tasks, v.Problems, c.want)
		}
	}
	forgePlan(t, dir, plan, []string{`{"blocks":""}`, `{"blocks":"A"}`})
	writeFile(t, dir, sharding.PlanName, []byte(plan)) // with the hash of the tasks as they were
	got := fmt.Sprint(check(t, out).Problems)
	for _, want := range []string{"tasks_sha256 is not", "task 0: plans 0 documents", "task 1: blocks"} {
		if !strings.Contains(got, want) {
			t.Errorf("wrong tasks under another hash: got %s, want %q among them", got, want)
		}
	}
	forgePlan(t, dir, plan, tasks)
	if v := check(t, out); !v.OK() {
		t.Errorf("the plan as it was: got %v", v.Problems)
	}
}

// forgePlan writes a file of tasks, and plan, the content of plan.json, with its
// hash.
func forgePlan(t *testing.T, dir, plan string, tasks []string) {
	t.Helper()
	var file bytes.Buffer
	sum, err := sharding.WriteTasks(t.Context(), &file, sharding.TaskList{Len: len(tasks), Plan: func(i int) any { return rawTask(tasks[i]) }})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, sharding.PlanFolder), sharding.TasksName, file.Bytes())
	old := regexp.MustCompile(`"tasks_sha256": "\w+"`)
	writeFile(t, dir, sharding.PlanName, []byte(old.ReplaceAllString(plan, `"tasks_sha256": "`+sum+`"`)))
}

// A rawTask is the JSON of a task.
type rawTask string

func (r rawTask) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestAPlanOfOtherTasksThanLeftFilesIsFound(t *testing.T) {
	dir := filepath.Join(smallRun(t, nil), sharding.ShardsFolder)
	plan := string(readFile(t, filepath.Join(dir, sharding.PlanName)))
	for _, tasks := range []string{"0", "3", "1000000000"} {
		writeFile(t, dir, sharding.PlanName, []byte(strings.Replace(plan, `"tasks": 1,`, `"tasks": `+tasks+",", 1)))
		if v := check(t, dir); v.Found != 1 || filepath.Base(v.Problems[0].File) != sharding.PlanName {
			t.Errorf("a plan of %s tasks: got %v", tasks, v.Problems)
		}
	}
}
