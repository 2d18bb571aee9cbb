//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// prose writes at least so many bytes of sentences, in paragraphs, of words that are
// made up of syllables: some thousands of them, unevenly frequent. From the second
// megabyte on the sentences are repeated.
func prose(t *testing.T, path string, bytes int, seed uint64) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := paragraphs(min(bytes, 1<<20), seed)
	for n := 0; n < bytes; n += len(text) {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}

func paragraphs(bytes int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	syllables := []string{"ka", "lo", "mi", "ter", "ran", "dun", "vel", "os", "pri", "ten", "sha", "bor", "e", "una"}
	words := make([]string, 6000)
	for i := range words {
		for range 1 + r.IntN(4) {
			words[i] += syllables[r.IntN(len(syllables))]
		}
	}
	var b strings.Builder
	for b.Len() < bytes {
		for range 5 {
			b.WriteString("So")
			for range 4 + r.IntN(25) {
				b.WriteString(" " + words[int(float64(len(words))*r.Float64()*r.Float64()*r.Float64())])
			}
			b.WriteString(". ")
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// peak runs all stages over books with two workers and returns the most memory
// that the process held, in MB.
func peak(t *testing.T, books string, more ...string) int64 {
	t.Helper()
	out := t.TempDir()
	p := prepareData(t, append([]string{"run", "--quiet", "--workers=2", "--dupe-factor=1", "--vocab-size=5000", "--books", books, "--out", out}, more...)...)
	p.Env = append(p.Env, "GOGC=") // as users have it
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

func TestTenTimesTheCorpusTakesNoMoreMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 40 {
		prose(t, filepath.Join(dir, []string{"small", "large"}[min(1, i/4)], fmt.Sprintf("%02d.txt", i)), 1_000_000, uint64(i))
	}
	for i := range 4 {
		if err := os.Link(filepath.Join(dir, "small", fmt.Sprintf("%02d.txt", i)), filepath.Join(dir, "large", fmt.Sprintf("%02d.txt", i))); err != nil {
			t.Fatal(err)
		}
	}
	const allowed = 300 // MB
	memory := fmt.Sprintf("--memory=%dMB", allowed)
	// How much garbage is in memory at a time is chance, up to as much as what is
	// in use, and the small corpus ends before there is much: so the peak of the
	// large corpus may be half as much again as the largest of several small ones.
	small := int64(0)
	for range 4 {
		small = max(small, peak(t, filepath.Join(dir, "small"), "--shards=2", memory))
	}
	large := peak(t, filepath.Join(dir, "large"), "--shards=20", memory)
	t.Logf("%d MB for 4 MB of text, %d MB for 40 MB", small, large)
	if large >= allowed {
		t.Errorf("%d MB of memory, want less than %d", large, allowed)
	}
	if large > small*150/100 {
		t.Errorf("%d MB of memory for ten times the corpus, want at most half more than %d", large, small)
	}
}
