package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestTheBillNamesProgramsAndModules(t *testing.T) {
	r, built := small(t)
	name, data, err := r.bill(built)
	if err != nil || name != "pretext-1.2.3.cdx.json" {
		t.Fatalf("got %q, %v", name, err)
	}
	var got bom
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	program := got.Components[0]
	if want := fmt.Sprintf("%x", sha256.Sum256(built[0].files[0].data)); program.Ref != "linux/amd64/prepare-data" || program.Version != "1.2.3" || program.Hashes[0].Content != want {
		t.Errorf("got %+v, want the hash %s", program, want)
	}
	want := []string{"pkg:golang/example.org/fork@v1.0.1", "pkg:golang/example.org/two/v2@v2.0.0%2Bincompatible", "pkg:golang/std@1.99.1"}
	if d := got.Dependencies[1]; d.Ref != program.Ref || !slices.Equal(d.DependsOn, want) {
		t.Errorf("got %+v, want %q", d, want)
	}
	if c := got.Components[5]; c.Name != "example.org/Two/v2" || len(c.Properties) != 1 || c.Properties[0].Value != "h1:AAAA=" {
		t.Errorf("got %+v, want the module with its hash", c)
	}
	refs := map[string]bool{"pretext": true}
	for _, c := range got.Components {
		if refs[c.Ref] {
			t.Errorf("%s is listed twice", c.Ref)
		}
		refs[c.Ref] = true
	}
	for _, d := range got.Dependencies {
		for _, on := range append(d.DependsOn, d.Ref) {
			if !refs[on] {
				t.Errorf("%s is no component", on)
			}
		}
	}
}

func TestTheNoticesHaveALicenceForEveryModule(t *testing.T) {
	r, _ := small(t)
	r.source = "."
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/google/go-cmp").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := &debug.Module{Path: "github.com/google/go-cmp", Version: strings.TrimSpace(string(version))}
	program := &debug.BuildInfo{GoVersion: runtime.Version(), Deps: []*debug.Module{module}}
	got, err := r.makeNotices(t.Context(), []programs{{built: []*debug.BuildInfo{program}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"std " + strings.TrimPrefix(runtime.Version(), "go") + ": LICENSE", module.Path + " " + module.Version + ": LICENSE", "Redistribution"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is not in the notices: %.300s", want, got)
		}
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte("package main\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := licences(nil, "example.org/a v1.0.0", folder); err == nil || !strings.Contains(err.Error(), "example.org/a") {
		t.Errorf("a module without a licence: got %v, want an error that names it", err)
	}
}
