//go:build unix

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/internal/dev/torture"
	"pretext/sharding/verify"
)

// secret is the content of files that the program was not given. No output may
// contain it.
const secret = "TheSecretOfTheNeighbour"

// escapeName is the name that hostile archives give to files outside of the target
// folder.
const escapeName = "escaped"

// A trap is a folder in which a program reads a hostile file, next to files that it
// must not touch.
type trap struct {
	root   string
	input  string // of the hostile file
	out    string
	before tree
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	root := t.TempDir()
	tr := &trap{root: root, input: filepath.Join(root, "home", "in"), out: filepath.Join(root, "home", "out")}
	for _, dir := range []string{tr.input, filepath.Join(root, "etc")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"etc/secret.txt", "home/secret.txt", "secret.txt", "home/in/.secret.txt"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(secret+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// A hostileKind makes different hostile files of one kind.
type hostileKind struct {
	name string // of the file, with an extension
	flag string // under which it is given
	make func(r *rand.Rand, tr *trap) []byte
}

// maxHostileCPU is the maximum CPU time for reading a hostile file: far more than any
// file here needs, and far less than more than linear time would take.
const maxHostileCPU = time.Minute

func TestHostileFilesMadeByChanceAreReadOrRefusedInOneLine(t *testing.T) {
	t.Parallel()
	random := torture.Random(t)
	var kinds []hostileKind
	for _, group := range [][]hostileKind{zipKinds(), tarKinds(), epubKinds(), dumpKinds(), textKinds(), parquetKinds()} {
		kinds = append(kinds, group...)
	}
	files := torture.Times(t, "PRETEXT_HOSTILE", len(kinds), max(600, 10*len(kinds)))
	t.Logf("%d files of %d kinds", files, len(kinds))
	for i := range files {
		kind := kinds[i%len(kinds)]
		tr := newTrap(t)
		data := kind.make(random, tr)
		t.Run(kind.name, func(t *testing.T) { tr.read(t, kind, data) })
		if t.Failed() {
			keepInput(t, kind.name, data)
			return
		}
		os.RemoveAll(tr.root)
	}
}

// read runs the program on the file and checks its result and all traces that it
// left.
func (tr *trap) read(t *testing.T, kind hostileKind, data []byte) {
	path := filepath.Join(tr.input, kind.name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	tr.before = readTree(t, tr.root)
	p := prepareData(t, "extract", "--quiet", "--workers=2", kind.flag, path, "--out", tr.out)
	code := p.code(t)
	otherColumn := code == 2 && strings.Contains(p.stderr.String(), "Parquet file: ") && strings.Contains(p.stderr.String(), "column")
	if code != 0 && code != 3 && code != 4 && !otherColumn {
		t.Errorf("exit code %d, want 0, 3 or 4: %s", code, p.stderr.String())
	}
	if code == 2 || code == 4 {
		p.oneLine(t, kind.name)
	} else if code != 0 {
		p.oneLine(t)
	}
	if mb := p.peakMB(); mb >= maxMB {
		t.Errorf("%d MB of memory, want less than %d", mb, maxMB)
	}
	if took := p.cpu(); took > maxHostileCPU {
		t.Errorf("%v of processor time for %d bytes", took, len(data))
	}
	noTemporary(t, "reading it", tr.out, p.temp)
	tr.untouched(t)
	tr.keptTheSecret(t)
	if _, err := os.Stat(filepath.Join(tr.out, "manifest.json")); err == nil {
		if v, err := verify.Dataset(t.Context(), tr.out, verify.Options{}); err != nil || !v.OK() {
			t.Errorf("verify: %v, %+v", err, v)
		}
	}
}

// untouched requires that nothing has changed except the output folder.
func (tr *trap) untouched(t *testing.T) {
	t.Helper()
	after := readTree(t, tr.root)
	for name := range after {
		if strings.HasPrefix(name, filepath.Join("home", "out")+string(filepath.Separator)) {
			delete(after, name)
		}
	}
	if diff := cmp.Diff(tr.before, after); diff != "" {
		t.Errorf("files beside the output changed (-before +after):\n%s", diff)
	}
	for _, dir := range []string{os.TempDir(), "/", "."} {
		if _, err := os.Lstat(filepath.Join(dir, escapeName)); err == nil {
			t.Errorf("%s was written into %s", escapeName, dir)
		}
	}
}

// keptTheSecret requires that no document contains text of a file that was not given.
func (tr *trap) keptTheSecret(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tr.out, "*.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := extract.NewBlockReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := extract.ReadBlocks(f, info.Size())
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, b := range blocks {
			for d, err := range r.Documents(f, b) {
				if err != nil {
					t.Errorf("%s: %v", path, err)
					break
				}
				if strings.Contains(d.Text, secret) || strings.Contains(d.Title, secret) {
					t.Errorf("document %s holds what was not given", d.ID)
				}
			}
		}
	}
}

// keepInput keeps a file with which the test failed, for inspection.
func keepInput(t *testing.T, name string, data []byte) {
	t.Helper()
	f, err := os.CreateTemp("", "hostile-*-"+name)
	if err != nil {
		t.Log(err)
		return
	}
	defer f.Close()
	f.Write(data)
	t.Logf("the file is kept: %s", f.Name())
}
