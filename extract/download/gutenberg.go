package download

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// URLs of Project Gutenberg. Mirrors have the same paths.
const (
	gutenbergCatalogue = "https://www.gutenberg.org/cache/epub/feeds/pg_catalog.csv.gz"
	gutenbergBook      = "https://www.gutenberg.org/cache/epub/%d/pg%d.txt"
)

// booksLicence is the licence of Project Gutenberg's books.
const booksLicence = "public domain in the USA; the Project Gutenberg License applies as long as its name is used"

// Limits on the catalogue, which has 21 MB in 2026 (5 MB compressed): its size in
// bytes, compressed and uncompressed, and the highest book number.
const (
	maxCatalogue       = 64 << 20
	maxCatalogueUnpack = 128 << 20
	maxBookID          = 10_000_000
)

// A book is a row of the catalogue.
type book struct {
	id        int
	languages []string
}

// resolveBooks lists the plain texts of the requested books: the books with the given
// numbers or, if there are none, the books of the catalogue in the given language, up
// to the limit.
func (c *Client) resolveBooks(ctx context.Context, r Request) (*List, error) {
	list := &List{}
	ids := slices.Clone(r.IDs)
	optional := false
	if len(ids) == 0 {
		raw, err := c.get(ctx, gutenbergCatalogue, maxCatalogue)
		if err != nil {
			return nil, err
		}
		books, err := parseCatalogue(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", gutenbergCatalogue, err)
		}
		for _, b := range books {
			if r.Language == "" || slices.Contains(b.languages, r.Language) {
				ids = append(ids, b.id)
			}
		}
		list.Indices = append(list.Indices, indexOf(gutenbergCatalogue, raw))
		optional = true
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if r.Limit > 0 && len(ids) > r.Limit {
		ids = ids[:r.Limit]
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s: %w: no such book in the catalogue", r, ErrNotFound)
	}
	for _, id := range ids {
		list.Files = append(list.Files, File{Name: fmt.Sprintf("pg%d.txt", id), URL: fmt.Sprintf(gutenbergBook, id, id), Kind: kindBooks,
			Licence: booksLicence, Optional: optional})
	}
	return list, nil
}

// parseCatalogue parses pg_catalog.csv.gz and returns its books: the entries of type
// Text.
func parseCatalogue(packed io.Reader) ([]book, error) {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("%w: catalogue: %w", ErrCorrupt, err)
	}
	limited := &io.LimitedReader{R: z, N: maxCatalogueUnpack}
	books, err := parseCSV(limited)
	if err != nil {
		return nil, fmt.Errorf("%w: catalogue: %w", ErrCorrupt, err)
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("%w: catalogue: more than %d bytes uncompressed", ErrCorrupt, maxCatalogueUnpack)
	}
	return books, nil
}

// parseCSV parses the decompressed catalogue. Each row is a book; the first row
// has the names of the columns.
func parseCSV(r io.Reader) ([]book, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord, rows.ReuseRecord, rows.LazyQuotes = -1, true, true
	head, err := rows.Read()
	if err != nil {
		return nil, err
	}
	column := func(name string) int {
		return slices.IndexFunc(head, func(h string) bool { return strings.TrimPrefix(h, "\ufeff") == name })
	}
	id, kind, languages := column("Text#"), column("Type"), column("Language")
	if id < 0 || kind < 0 || languages < 0 {
		return nil, errors.New("columns Text#, Type and Language are missing")
	}
	var books []book
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return books, nil
		}
		if err != nil {
			return nil, err
		}
		if len(row) <= max(id, kind, languages) || row[kind] != "Text" {
			continue
		}
		if n, ok := number(row[id]); ok && n >= 1 && n <= maxBookID {
			books = append(books, book{int(n), strings.FieldsFunc(strings.ToLower(row[languages]), func(r rune) bool { return r == ';' || r == ',' || r == ' ' })})
		}
	}
}
