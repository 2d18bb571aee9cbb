package stage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/failure"
)

// A worker of a pool with a secret does only what a holder of the secret has told it: a
// stage without a seal, and one that was changed on the way, is refused.
func TestAWorkerRefusesAStageThatIsNotSealed(t *testing.T) {
	AsWorker(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PRETEXT_WORKER_SECRET", secret)
	spec, limits := planned(t), Limits{Workers: 3, Memory: 1 << 30, Build: build()}
	spec.Work = json.RawMessage("{\"Name\": \"<&>\u2028\"}") // which JSON writes in another way
	var err error
	if limits.Seal, err = seal([]byte("0123456789abcdef"), t.Name(), limits, spec); err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(taskFn{Job: t.Name(), Limits: limits, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	find := func(change func(*taskFn)) error {
		var fn taskFn
		if err := json.Unmarshal(sent, &fn); err != nil {
			t.Fatal(err)
		}
		change(&fn)
		_, err := findJob(t.Context(), fn.Job, fn.Limits, fn.Spec)
		return err
	}
	if err := find(func(*taskFn) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { jobs.Delete(t.Name()) })
	// The job is known to the worker now, which helps nobody.
	for name, change := range map[string]func(*taskFn){
		"no seal": func(fn *taskFn) { fn.Limits.Seal = nil },
		"seal":    func(fn *taskFn) { fn.Limits.Seal[0] ^= 1 },
		"job":     func(fn *taskFn) { fn.Job += "x" },
		"stage":   func(fn *taskFn) { fn.Spec.Stage = "extract" },
		"out":     func(fn *taskFn) { fn.Spec.Out = "/etc" },
		"paths":   func(fn *taskFn) { fn.Spec.Paths = []string{"/root"} },
		"temp":    func(fn *taskFn) { fn.Spec.Temp = "/etc" },
		"work":    func(fn *taskFn) { fn.Spec.Work = json.RawMessage(`{}`) },
		"plan":    func(fn *taskFn) { fn.Spec.Fingerprint = "another" },
		"workers": func(fn *taskFn) { fn.Limits.Workers = 1000 },
		"memory":  func(fn *taskFn) { fn.Limits.Memory = 1 << 60 },
		"build":   func(fn *taskFn) { fn.Limits.Build = "" },
	} {
		if err := find(change); !failure.IsUsage(err) || !strings.Contains(err.Error(), "was not submitted with the secret of this worker's pool") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := find(func(*taskFn) {}); err == nil && os.Getuid() >= 0 {
		t.Error("a secret that everybody may read is used")
	}
	t.Setenv("PRETEXT_WORKER_SECRET", "")
	if err := find(func(fn *taskFn) { fn.Limits.Seal = nil }); err != nil {
		t.Errorf("a worker without a secret: %v", err)
	}
}
