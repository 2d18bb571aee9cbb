//go:build unix

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// prose writes at least so many bytes of sentences, in paragraphs, of words
// that are made up of syllables: some thousands of them, unevenly frequent.
func prose(t *testing.T, path string, bytes int, seed uint64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(seed, 0))
	syllables := []string{"ka", "lo", "mi", "ter", "ran", "dun", "vel", "os", "pri", "ten", "sha", "bor", "e", "una"}
	words := make([]string, 6000)
	for i := range words {
		for range 1 + r.IntN(4) {
			words[i] += syllables[r.IntN(len(syllables))]
		}
	}
	n := 0
	for n < bytes {
		for range 5 {
			w.WriteString("So")
			for range 4 + r.IntN(25) {
				word := words[int(float64(len(words))*r.Float64()*r.Float64()*r.Float64())]
				w.WriteString(" " + word)
				n += len(word) + 1
			}
			w.WriteString(". ")
			n += 4
		}
		w.WriteString("\n\n")
		n += 2
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// peak runs all stages over books with the default limits and returns the most
// memory that the process held, in MB.
func peak(t *testing.T, books string, more ...string) int64 {
	t.Helper()
	out := t.TempDir()
	p := prepareData(t, append([]string{"run", "--quiet", "--workers=2", "--dupe-factor=1", "--vocab-size=5000", "--books", books, "--out", out}, more...)...)
	p.succeed(t)
	os.RemoveAll(out)
	return p.peakMB()
}

func TestTheLargestDocumentThatIsKeptFitsIntoTheDefaultMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prose(t, filepath.Join(dir, "large.txt"), 60_000_000, 1)
	for i := range 3 {
		prose(t, filepath.Join(dir, fmt.Sprintf("small-%d.txt", i)), 1_000_000, uint64(i))
	}
	got := peak(t, dir)
	t.Logf("%d MB", got)
	if got >= maxMB {
		t.Errorf("%d MB of memory, want less than %d", got, maxMB)
	}
}

func TestADocumentThatIsTooLargeIsRejectedWithoutHoldingIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prose(t, filepath.Join(dir, "endless.txt"), 200_000_000, 1)
	prose(t, filepath.Join(dir, "small.txt"), 100_000, 2)
	got := peak(t, dir)
	t.Logf("%d MB", got)
	if got >= maxMB {
		t.Errorf("%d MB of memory, want less than %d", got, maxMB)
	}
}

func TestMemoryDoesNotGrowWithTheCorpus(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var small []int64
	for name, files := range map[string]int{"small": 4, "large": 40} {
		books := filepath.Join(dir, name)
		if err := os.Mkdir(books, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range files {
			prose(t, filepath.Join(books, fmt.Sprintf("%02d.txt", i)), 1_000_000, uint64(i))
		}
		got := peak(t, books, "--shards", fmt.Sprint(files/2))
		t.Logf("%s: %d MB", name, got)
		small = append(small, got)
	}
	if a, b := min(small[0], small[1]), max(small[0], small[1]); b > a+a/2 {
		t.Errorf("%d MB for a corpus, %d MB for one ten times as large", a, b)
	}
}
