package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pretext/internal/metrics"
	"pretext/pipeline/stage"
)

// A run serves its metrics, and a resumed run counts the tasks that it kept.
func TestARunServesItsMetrics(t *testing.T) {
	dir := t.TempDir()
	book := filepath.Join(dir, "book.txt")
	if err := os.WriteFile(book, []byte(strings.Repeat("A line of a book, long enough to be kept.\n\n", 50)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []int{0, 1} {
		ctx, cancel := context.WithCancel(t.Context())
		var stderr strings.Builder
		root := NewRoot()
		root.SetOut(io.Discard)
		root.SetErr(&stderr)
		root.SetArgs([]string{"extract", "--books", book, "--out", filepath.Join(dir, "out"), "--quiet", "--set", "metrics-listen=0"})
		if err := root.ExecuteContext(ctx); err != nil {
			t.Fatal(err)
		}
		_, url, _ := strings.Cut(strings.TrimSpace(stderr.String()), "metrics at ")
		text := get(t, url)
		for _, line := range []string{"running{stage=\"extract\"} 0", "tasks{stage=\"extract\"} 1", "tasks_done{stage=\"extract\"} 1", fmt.Sprintf("tasks_kept{stage=\"extract\"} %d", kept)} {
			if !strings.Contains(text, "\nprepare_data_stage_"+line+"\n") {
				t.Errorf("no %s in %s", line, text)
			}
		}
		if regexp.MustCompile(`stage_progress\{stage="extract",unit="bytes"\} (\d+)`).FindStringSubmatch(text) == nil || strings.Contains(text, "_lease_") {
			t.Error(text)
		}
		cancel()
		for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			answer, err := http.Get(url)
			if err != nil {
				break // the listener has ended
			}
			answer.Body.Close()
			if time.Since(begin) > 10*time.Second {
				t.Fatal("metrics are served after the end of the command")
			}
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// While a stage runs, its metrics change.
func TestARunningStageIsSeen(t *testing.T) {
	var s stageMetrics
	text := func() string {
		var t metrics.Text
		s.write(&t)
		return t.String()
	}
	if got := text(); got != "" {
		t.Errorf("before the first stage: %s", got)
	}
	m := &stage.Meter{Stage: "download", Total: 10, Tasks: 3, Unit: "files"}
	stopped := 0
	stop := s.watch(func(*stage.Meter) func() { return func() { stopped++ } })(m)
	m.Add(4)
	for _, line := range []string{`running{stage="download"} 1`, `progress{stage="download",unit="files"} 4`, `progress_end{stage="download",unit="files"} 10`, `tasks{stage="download"} 3`} {
		if !strings.Contains(text(), "\nprepare_data_stage_"+line+"\n") {
			t.Errorf("no %s in %s", line, text())
		}
	}
	stop()
	if !strings.Contains(text(), `running{stage="download"} 0`) || stopped != 1 {
		t.Errorf("after the stage: %s, %d", text(), stopped)
	}
}

// The page names each metric, and no other.
func TestThePageOfTheClusterNamesAllMetrics(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`(prepare_data_[a-z_]+)`")
	var want, have []string
	for _, m := range name.FindAllStringSubmatch(string(page), -1) {
		want = append(want, m[1])
	}
	for _, file := range []string{"metrics.go", "../../../pipeline/flink/told.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`t\.(?:Counter|Gauge)\("(prepare_data_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
			have = append(have, m[1])
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if want, have = slices.Compact(want), slices.Compact(have); !slices.Equal(want, have) || len(have) < 30 {
		t.Errorf("docs/cluster.md names %q, the code has %q", want, have)
	}
}

func TestAPortInUseEndsWith2(t *testing.T) {
	l, err := metrics.Listen("0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out strings.Builder
	root := NewRoot()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs([]string{"demo", "--out", filepath.Join(t.TempDir(), "out"), "--set", "metrics-listen=" + l.Addr().String()})
	if code := Report(&out, root.ExecuteContext(t.Context())); code != 2 || !strings.Contains(out.String(), "metrics-listen") {
		t.Errorf("code %d: %s", code, &out)
	}
}
