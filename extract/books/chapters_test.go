package books

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
)

func TestHeadingsOfChapters(t *testing.T) {
	for line, want := range map[string]bool{
		"CHAPTER I": true, "Chapter 12. The Sea": true, "CHAPTER THE FIRST": true, "Chapter One": true, "PART TWO--The Sea Cook": true, "Letter iv": true,
		"Kapitel 3": true, "Chapitre IV : La mer": true, "Глава 1": true, "ADVENTURE IX. THE END": true, "book vii.": true, "CHAPTER TWENTY-ONE": true,
		"Chapter": false, "Chapters I and II": false, "part of the boat": false, "Part in it had he none": false, "Letter to a friend": false,
		"Part i saw": false, "The chapter I read": false, "": false, "CHAPTER": false, "Book the boats for us": false,
		"Chapter 1 " + strings.Repeat("long ", 30): false, "Act one thing out": false,
	} {
		if got := isHeading([]byte(line)); got != want {
			t.Errorf("%q: got %v", line, got)
		}
	}
}

func TestChaptersAreDocuments(t *testing.T) {
	long := strings.Repeat("The boat goes down the river to the sea. ", 10)
	dir := t.TempDir()
	writeFile(t, dir+"/a.txt", "A TITLE\n\nCHAPTER I\n\nCHAPTER II\n\nCHAPTER I\n\n"+long+"\n\nCHAPTER II\n\n"+long+"\n\nTHE END\n\nCHAPTER III\n\nShort.\n")
	writeFile(t, dir+"/b.txt", long)
	docs, stats, err := readAll(t, Options{Chapters: true}, dir)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(long)
	want := []string{"books:a.txt#1|A TITLE\nCHAPTER I\nCHAPTER II\nCHAPTER I\n" + text, "books:a.txt#2|CHAPTER II\n" + text + "\nTHE END\nCHAPTER III\nShort.", "books:b.txt|" + text}
	if diff := cmp.Diff(want, docs); diff != "" {
		t.Error(diff)
	}
	if s := stats[0]; s.Books != 3 || s.Kept != 3 {
		t.Errorf("stats: %+v", s)
	}
}

func TestDocumentsOfTheSpineAreChapters(t *testing.T) {
	long := strings.Repeat("Und das Boot fährt den Fluß hinab. ", 10)
	members := epubMembers()
	for i := range members {
		switch members[i].name {
		case "OEBPS/text/one.xhtml":
			members[i].content = xhtml("<h1>Eins</h1><p>" + long + "</p>")
		case "OEBPS/text/two b.xhtml":
			members[i].content = xhtml("<p>" + long + "</p><p>Ende.</p>")
		}
	}
	store := memory{"in/b.epub": zipOf(t, members...)}
	r := NewReader(store, Task{Path: "in", Kind: kindFolder, Files: []Name{"b.epub"}}, Options{Chapters: true})
	var got []string
	for d, err := range r.Documents() {
		if err != nil {
			t.Fatal(err)
		}
		if d.Lang != "fr" || d.Title != "The Title" {
			t.Errorf("got %q in %q", d.Title, d.Lang)
		}
		got = append(got, d.ID+"|"+d.Text)
	}
	text := strings.TrimSpace(long)
	if diff := cmp.Diff([]string{"books:b.epub#1|Eins\n" + text, "books:b.epub#2|" + text + "\nEnde."}, got[:min(2, len(got))]); diff != "" {
		t.Error(diff)
	}
}

// Whatever is cut, all of the book is there.
func TestChaptersMakeUpTheBook(t *testing.T) {
	for name, least := range map[string]int{"11_alices_adventures_in_wonderland.txt": 12, "84_frankenstein_or_the_modern_prometheus.txt": 24, "36_the_war_of_the_worlds.txt": 2} {
		path := realdata.Path(t, "books/txt/"+name)
		whole, _, err := readAll(t, Options{}, path)
		if err != nil {
			t.Fatal(err)
		}
		chapters, _, err := readAll(t, Options{Chapters: true}, path)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, c := range chapters {
			_, text, _ := strings.Cut(c, "|")
			parts = append(parts, text)
		}
		if _, text, _ := strings.Cut(whole[0], "|"); strings.Join(parts, "\n") != text {
			t.Errorf("%s: the chapters are not the book", name)
		}
		if len(chapters) < least || len(chapters) > 2*least+40 {
			t.Errorf("%s: %d chapters", name, len(chapters))
		}
		t.Logf("%s: %d chapters", name, len(chapters))
	}
}

func FuzzCutChapters(f *testing.F) {
	f.Add([]byte("CHAPTER I\na\nCHAPTER II\nb"))
	f.Add([]byte("Chapter \xff\n\nPart 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		parts := cutChapters(slices.Clone(text))
		if !bytes.Equal(bytes.Join(parts, []byte("\n")), text) {
			t.Fatalf("%q is cut into %q", text, parts)
		}
		for _, p := range parts[1:] {
			line, _, _ := bytes.Cut(p, []byte("\n"))
			if !isHeading(line) {
				t.Fatalf("a chapter that begins with %q", line)
			}
		}
		if joined := joinShort(parts); len(joined) > len(parts) {
			t.Fatalf("%d chapters of %d parts", len(joined), len(parts))
		}
	})
}
