package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"pretext/extract/text"
	"pretext/internal/store"
)

// checkFields refuses JSON lines in whose first lines no object has the field with
// the text: every line would be a reject.
func checkFields(ctx context.Context, path string, o text.Options) error {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := text.SampleFields(path, io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return fmt.Errorf("read text %q: %w", path, err)
	}
	name, field := filepath.Base(path), cmp.Or(o.Field, "text")
	switch {
	case s.Array:
		return &ConfigError{Err: fmt.Errorf("%s is one JSON array, not JSON lines: write one object a line, as jq -c '.[]' does", path)}
	case s.Objects == 0 && isText(path):
		return &ConfigError{Err: fmt.Errorf("%s is not JSON lines: give text in BERT's form as --text %s, and books to prepare-data extract --books", path, path)}
	case s.Objects == 0 || slices.Contains(s.Fields, field):
		return nil // the reader counts what is wrong with its lines
	}
	cure := "none of them holds text"
	if s.Longest != "" {
		cure = fmt.Sprintf("give --text-field %s if that one holds the text", s.Longest)
	}
	fields := s.Fields
	if len(fields) > 10 {
		fields = append(slices.Clip(fields[:10]), "…")
	}
	return &ConfigError{Err: fmt.Errorf("%s: no line of the first %d has a field %q, the fields are %s: %s", name, s.Objects, field, strings.Join(fields, ", "), cure)}
}
