package books_test

import (
	"fmt"
	"os"
	"path/filepath"

	"pretext/extract/books"
)

func Example() {
	dir, err := os.MkdirTemp("", "books")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	text := "CHAPTER I\n\nThe lines of this book are broken at the margin, as they\nwere on the machine that wrote them.\n"
	if err := os.WriteFile(filepath.Join(dir, "lines.txt"), []byte(text), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	tasks, err := books.Plan(books.Local{}, []string{dir}, books.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, task := range tasks {
		r := books.NewReader(books.Local{}, task, books.Options{Lang: "en"})
		for doc, err := range r.Documents() {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s (%s)\n%s\n", doc.ID, doc.Title, doc.Text)
		}
		fmt.Println(r.Stats().Kept, "book")
	}
	// Output:
	// books:lines.txt (lines)
	// CHAPTER I
	// The lines of this book are broken at the margin, as they were on the machine that wrote them.
	// 1 book
}
