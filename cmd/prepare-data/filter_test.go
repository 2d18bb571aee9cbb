//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/internal/dev/torture"
	"pretext/sharding"
)

// A planted corpus contains copies, nearly equal documents, and documents that are
// similar but not duplicates.
type planted struct {
	path   string
	copies map[string]string // ID of a copy → of what it was made from
}

// shingles returns the sequences of five words in a text.
func shingles(words []string) map[string]bool {
	set := map[string]bool{}
	for i := 0; i+5 <= len(words); i++ {
		set[strings.Join(words[i:i+5], " ")] = true
	}
	return set
}

func similarity(a, b map[string]bool) float64 {
	both := 0
	for s := range a {
		if b[s] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// plant writes n documents in random order, drawn with a seed. A tenth are copies
// with a similarity of 0.8 to 1, and as many have a similarity of 0.3 to 0.75 to
// another document.
func plant(t *testing.T, n int, seed uint64) planted {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var lexicon []string
	for range 4000 {
		word := ""
		for range 1 + r.IntN(3) {
			word += []string{"ka", "lo", "mi", "ter", "ran", "dun", "vel", "os", "pri", "ten", "sha", "bor"}[r.IntN(12)]
		}
		lexicon = append(lexicon, word)
	}
	word := func() string { u := r.Float64(); return lexicon[int(float64(len(lexicon))*u*u)] }
	c := planted{path: filepath.Join(t.TempDir(), "planted.jsonl"), copies: map[string]string{}}
	docs := make([]extract.Document, n)
	base := func(i int) []string { return strings.Fields(docs[i].Text) }
	for i := range docs {
		var words []string
		switch {
		case i < n*8/10:
			for range 80 + r.IntN(300) {
				words = append(words, word())
			}
		case i < n*9/10:
			words = alter(r, base(i-n*8/10), word, 0.8+0.17*r.Float64(), 0.03)
			c.copies[fmt.Sprint("doc:", i)] = fmt.Sprint("doc:", i-n*8/10)
		default:
			words = alter(r, base(i-n*8/10), word, 0.3+0.42*r.Float64(), 0.03)
		}
		docs[i] = extract.Document{ID: fmt.Sprint("doc:", i), Text: strings.Join(words, " "), Source: "planted"}
	}
	r.Shuffle(n, func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	var file []byte
	for _, d := range docs {
		file = d.AppendJSON(file)
	}
	if err := os.WriteFile(c.path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}

// alter changes words of a text until its exact similarity to the original is in a
// range.
func alter(r *rand.Rand, words []string, word func() string, from, width float64) []string {
	whole := shingles(words)
	for {
		changed := slices.Clone(words)
		for range 200 {
			changed[r.IntN(len(changed))] = word()
			if s := similarity(whole, shingles(changed)); s >= from && s <= from+width {
				return changed
			} else if s < from {
				break
			}
		}
	}
}

// rejected returns, for each rejected document, the ID of the document that it
// duplicates.
func rejected(t *testing.T, out string) map[string]string {
	t.Helper()
	of := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(out, "*.rejects"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no lists of rejects: %v", err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var r struct{ ID, Of string }
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			of[r.ID] = r.Of
		}
	}
	return of
}

func TestNearDuplicatesAreFoundInTheMemoryStated(t *testing.T) {
	t.Parallel()
	n := torture.Times(t, "PRETEXT_COPIES", 1000, 10_000)
	c := plant(t, n, 1)
	const allowed = 300 // MB
	out := t.TempDir()
	p := prepareData(t, "filter", c.path, "--dedup=minhash", "--workers=2", fmt.Sprintf("--memory=%dMB", allowed), "--quiet", "--out", out)
	p.succeed(t)
	found, wrong := 0, 0
	for id, of := range rejected(t, out) {
		if c.copies[id] == of || c.copies[of] == id {
			found++
		} else {
			wrong++
			t.Logf("%s was taken for a copy of %s", id, of)
		}
	}
	recall, precision := float64(found)/float64(len(c.copies)), float64(found)/float64(max(1, found+wrong))
	t.Logf("%d documents, %d copies: recall %.4f, precision %.4f, %d MB", n, len(c.copies), recall, precision, p.peakMB())
	if recall < 0.95 || precision < 0.99 {
		t.Errorf("recall %.4f, precision %.4f", recall, precision)
	}
	if got := p.peakMB(); got >= allowed {
		t.Errorf("%d MB of memory, want less than %d", got, allowed)
	}
}

// The search for duplicates keeps some bytes for each document in memory, and stays
// within --memory.
func TestHundredsOfThousandsOfDocumentsAreComparedInTheMemoryAllowed(t *testing.T) {
	t.Parallel()
	n := torture.Times(t, "PRETEXT_COMPARED", 150_000, 2_000_000)
	path := filepath.Join(t.TempDir(), "short.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, `{"text":"note %d of %d says little"}`+"\n", i*7919%n/2, i*31%n/3)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	const allowed = 300 // MB
	out := t.TempDir()
	p := prepareData(t, "filter", path, "--dedup=minhash", "--workers=2", fmt.Sprintf("--memory=%dMB", allowed), "--quiet", "--out", out)
	p.Env = append(p.Env, "GOGC=") // as users have it
	p.succeed(t)
	t.Logf("%d documents: %d MB", n, p.peakMB())
	if got := p.peakMB(); got >= allowed {
		t.Errorf("%d MB of memory, want less than %d", got, allowed)
	}
}

func TestAFilterThatIsKilledAtAnyTimeEndsAsIfItHadNotBeen(t *testing.T) {
	c := plant(t, 500, 2)
	documents := t.TempDir()
	for i := range 3 { // of several files; long documents are in all of them
		prepareData(t, "filter", c.path, fmt.Sprint("--rule=min-words=", 1+i/2*250), "--quiet", "--out", filepath.Join(documents, fmt.Sprint(i))).succeed(t)
	}
	args := func(out string) []string {
		return []string{"filter", filepath.Join(documents, "0"), filepath.Join(documents, "1"), filepath.Join(documents, "2"), "--quiet", "--workers=2",
			"--dedup=minhash", "--quality=c4", "--rule=min-sentences=off", "--line-documents=2", "--out", out} // the stages lines, signatures and filter
	}
	whole := t.TempDir()
	prepareData(t, args(whole)...).succeed(t)
	want := readTree(t, whole)
	if m, err := os.ReadFile(filepath.Join(whole, sharding.ManifestName)); err != nil || !strings.Contains(string(m), `"removed_lines"`) {
		t.Errorf("no line is removed: %v", err)
	}
	k := &killer{random: torture.Random(t), kills: max(1, torture.Times(t, "PRETEXT_KILLS", 5, 1000)/10), files: len(want)}
	for round := 0; k.kills > 0; round++ {
		out := t.TempDir()
		for done := false; !done; {
			p := prepareData(t, args(out)...)
			var code int
			if code, done = k.start(t, p, out); done && code != 0 {
				t.Fatalf("exit code %d: %s", code, p.stderr.String())
			}
		}
		if diff := cmp.Diff(want, readTree(t, out)); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

// Two editions of a book are duplicates if they differ in line breaks, case, some
// spellings and the file name.
func TestEditionsOfABookAreOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	prose(t, filepath.Join(dir, "in", "a-first.txt"), 400_000, 1)
	prose(t, filepath.Join(dir, "in", "other.txt"), 400_000, 2)
	first, err := os.ReadFile(filepath.Join(dir, "in", "a-first.txt"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(first))
	for i := 0; i < len(words); i += 97 {
		words[i] = "altered"
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "in", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("b-same.txt", strings.ToUpper(string(first)))
	write("c-edition.txt", "A new preface.\n\n"+wrap(words, 60))
	write("d-half.txt", wrap(words[:len(words)/2], 70))
	documents, out := filepath.Join(dir, "documents"), filepath.Join(dir, "out")
	prepareData(t, "extract", "--books", filepath.Join(dir, "in"), "--quiet", "--out", documents).succeed(t)
	prepareData(t, "filter", documents, "--dedup=minhash", "--quiet", "--out", out).succeed(t)
	want := map[string]string{"books:b-same.txt": "books:a-first.txt", "books:c-edition.txt": "books:a-first.txt"}
	if diff := cmp.Diff(want, rejected(t, out)); diff != "" {
		t.Error(diff)
	}
}

// wrap breaks words into lines, with occasional blank lines.
func wrap(words []string, width int) string {
	var b strings.Builder
	column := 0
	for i, w := range words {
		if column+len(w) > width {
			b.WriteString("\n")
			column = 0
		}
		if i%300 == 299 {
			b.WriteString("\n\n")
			column = 0
		}
		if column > 0 {
			b.WriteString(" ")
		}
		b.WriteString(w)
		column += len(w) + 1
	}
	return b.String()
}
