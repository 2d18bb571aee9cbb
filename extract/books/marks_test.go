package books

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

// A passage is a range of a book's lines, with the marks of a reader: lines that are not the
// author's text.
type passage struct {
	from, to int // from 1, both inclusive
	drop     map[int]string
}

// minMarkedF1 is the least F1 of words between the text of the marked passages and what a
// reader would keep of them.
const minMarkedF1 = 0.998

// markedBooks parses testdata/marks.tsv.
func markedBooks(t *testing.T) map[string][]passage {
	t.Helper()
	text, err := os.ReadFile("testdata/marks.tsv")
	if err != nil {
		t.Fatal(err)
	}
	books := map[string][]passage{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		p := passage{drop: map[int]string{}}
		if n, err := fmt.Sscanf(fields[1], "%d-%d", &p.from, &p.to); n != 2 || err != nil || p.from > p.to {
			t.Fatalf("marks.tsv: %q", line)
		}
		if len(fields) > 2 {
			words := strings.Fields(fields[2])
			for i := 0; i+1 < len(words); i += 2 {
				first, last := 0, 0
				if n, _ := fmt.Sscanf(words[i], "%d-%d", &first, &last); n == 1 {
					last = first
				}
				for ; first <= last; first++ {
					if p.drop[first] = words[i+1]; first < p.from || first > p.to {
						t.Fatalf("marks.tsv: line %d is not in the passage of %q", first, line)
					}
				}
			}
		}
		books[fields[0]] = append(books[fields[0]], p)
	}
	return books
}

var aWord = regexp.MustCompile(`[\p{L}\p{N}]+`)

func wordCounts(text string) map[string]int {
	counts := map[string]int{}
	for _, w := range aWord.FindAllString(strings.ToLower(text), -1) {
		counts[w]++
	}
	return counts
}

// f1 returns twice the common words, the words of got and those of want.
func f1(got, want map[string]int) (common, total int) {
	for w, n := range got {
		common += 2 * min(n, want[w])
		total += n
	}
	for _, n := range want {
		total += n
	}
	return common, total
}

func TestMarkedPassagesOfBooksAreKeptAsAReaderWould(t *testing.T) {
	files := realBooks(t)
	books := markedBooks(t)
	if len(books) < 20 {
		t.Errorf("%d books are marked, want 20", len(books))
	}
	common, total, dropped := 0, 0, 0
	for name, passages := range books {
		lines := strings.Split(files[name], "\n")
		var source, kept strings.Builder
		for _, p := range passages {
			if p.to > len(lines) {
				t.Fatalf("%s has %d lines, the marks are about line %d", name, len(lines), p.to)
			}
			for n := p.from; n <= p.to; n++ {
				source.WriteString(lines[n-1] + "\n")
				if p.drop[n] == "" {
					kept.WriteString(strings.TrimPrefix(lines[n-1], "|") + "\n")
				}
			}
			source.WriteString("\n\n")
			dropped += len(p.drop)
		}
		text, _ := readText(t, source.String(), Options{})
		got, want := wordCounts(text), wordCounts(kept.String())
		c, n := f1(got, want)
		common, total = common+c, total+n
		if f := float64(c) / float64(n); f < minMarkedF1 {
			t.Errorf("%s: F1 %.4f, want %g: too much %v, too little %v", name, f, minMarkedF1, missing(got, want), missing(want, got))
		}
		for _, mark := range []string{"|", "[Illustration", ".jpg", "* *", "_"} {
			if i := strings.Index(text, mark); i >= 0 && !strings.Contains(mark+text[i:], "__") {
				t.Errorf("%s: %q remains in %q", name, mark, text[max(0, i-30):min(len(text), i+30)])
			}
		}
	}
	t.Logf("F1 %.5f of %d words in %d books, %d lines marked", float64(common)/float64(total), total/2, len(books), dropped)
}

// missing returns the words of which a has more than b.
func missing(a, b map[string]int) (words []string) {
	for w, n := range a {
		if n > b[w] {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words[:min(len(words), 20)]
}

// realBooks returns the texts of the shared books by the names of their files.
func realBooks(t *testing.T) map[string]string {
	t.Helper()
	books := map[string]string{}
	loose, err := filepath.Glob(filepath.Join(realdata.Path(t, "books/txt"), "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range loose {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		books[filepath.Base(path)] = string(text)
	}
	packed, err := os.ReadFile(realdata.Path(t, "books/books-txt.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return books
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		books[filepath.Base(head.Name)] = string(text)
	}
}
