//go:build unix

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/torture"
)

// archives returns the same books as a .tar.gz and as a .zip, by name.
func archives(t *testing.T) map[string][]byte {
	t.Helper()
	var packed, zipped bytes.Buffer
	gz := gzip.NewWriter(&packed)
	tarball, zips := tar.NewWriter(gz), zip.NewWriter(&zipped)
	for i := range 14 {
		name, text := fmt.Sprintf("books/%02d.txt", i), paragraphs(120_000+i*30_000, uint64(i))
		if i == 5 {
			text = "binary\x00" // a reject
		}
		if err := tarball.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		w, err := zips.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []io.Writer{tarball, w} {
			if _, err := io.WriteString(to, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []io.Closer{tarball, gz, zips} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return map[string][]byte{"x.tar.gz": packed.Bytes(), "x.zip": zipped.Bytes()}
}

// Idle workers convert the books of an archive; whatever their number, and whenever the
// process is killed, the documents are those of one worker.
func TestAnArchiveGivesTheSameBytesWithAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	random := torture.Random(t)
	for name, content := range archives(t) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		extract := func(out string, workers int) *process {
			return prepareData(t, "extract", "--quiet", "--books", path, "--out", out, fmt.Sprint("--workers=", workers))
		}
		whole := t.TempDir()
		extract(whole, 1).succeed(t)
		want := readTree(t, whole)
		for _, workers := range []int{2, 5} {
			out := t.TempDir()
			extract(out, workers).succeed(t)
			if diff := cmp.Diff(want, readTree(t, out)); diff != "" {
				t.Errorf("%s, %d workers: %s", name, workers, diff)
			}
		}
		killed := 0
		for range max(2, torture.Times(t, "PRETEXT_KILLS", 5, 1000)/4) {
			out := t.TempDir()
			p := extract(out, 3)
			if p.during(t, moment{2, random.IntN(120), out}, func() { p.Process.Kill() }) == -1 {
				killed++
			}
			again := extract(out, 2)
			again.succeed(t)
			noTemporary(t, "killed", out, p.temp, again.temp)
			if diff := cmp.Diff(want, readTree(t, out)); diff != "" {
				t.Fatalf("%s, killed: %s", name, diff)
			}
		}
		t.Logf("%s: %d processes were killed", name, killed)
	}
}

// A damaged archive has the same error and exit code with any number of workers, and an
// interrupted one leaves nothing temporary.
func TestADamagedArchiveEndsTheSameWithAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	for name, content := range archives(t) {
		flipped := bytes.Clone(content)
		flipped[len(content)/2] ^= 0x55
		for damage, b := range map[string][]byte{"cut": content[:len(content)*2/3], "flipped": flipped} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			var codes []int
			var texts []string
			var trees []tree
			for _, workers := range []int{1, 4} {
				out := t.TempDir()
				p := prepareData(t, "extract", "--quiet", "--books", path, "--out", out, fmt.Sprint("--workers=", workers))
				codes, texts, trees = append(codes, p.code(t)), append(texts, p.stderr.String()), append(trees, readTree(t, out))
				noTemporary(t, damage, out, p.temp)
			}
			// The directory of a zip archive is at its end; a member that is damaged is a reject.
			want := 4
			if name == "x.zip" && damage == "flipped" {
				want = 0
			}
			if codes[0] != want || codes[1] != want || texts[0] != texts[1] || cmp.Diff(trees[0], trees[1]) != "" {
				t.Errorf("%s, %s: exit codes %d, want %d, errors %q, %s", name, damage, codes, want, texts, cmp.Diff(trees[0], trees[1]))
			}
		}
		path, out := filepath.Join(t.TempDir(), name), t.TempDir()
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		p := prepareData(t, "extract", "--quiet", "--books", path, "--out", out, "--workers=3")
		if code := p.during(t, moment{2, 20, out}, func() { p.Process.Signal(syscall.SIGTERM) }); code != 0 && code != 143 && code != 130 {
			t.Errorf("%s: exit code %d after SIGTERM: %s", name, code, p.stderr.String())
		}
		noTemporary(t, "interrupted", out, p.temp)
	}
}
