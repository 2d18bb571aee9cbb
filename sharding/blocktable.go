package sharding

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"pretext/extract"
	"pretext/internal/store"
)

// ReadDocumentsBody returns the side-car's Body for the documents file with the given
// name.
func ReadDocumentsBody(ctx context.Context, folder Folder, name string) (DocumentsBody, error) {
	return readDocumentsBody(ctx, folder, sideCarOf(name))
}

// sideCarOf returns the name of the side-car of a documents file.
func sideCarOf(name string) string { return strings.TrimSuffix(name, DocumentsSuffix) + SideCarSuffix }

func readDocumentsBody(ctx context.Context, folder Folder, sideCar string) (DocumentsBody, error) {
	raw, err := store.ReadFile(ctx, folder, sideCar)
	if err != nil {
		return DocumentsBody{}, err
	}
	body, err := parseDocumentsBody(raw)
	if err != nil {
		return DocumentsBody{}, fmt.Errorf("read %s in %s: %w", sideCar, folder, err)
	}
	return body, nil
}

// parseDocumentsBody returns the Body of a side-car. The error matches [ErrFormat].
func parseDocumentsBody(raw []byte) (body DocumentsBody, err error) {
	rest, blocks := cutBlockTable(raw)
	var car struct {
		Body *DocumentsBody `json:"body"`
	}
	if err := parseJSON(rest, &car); err != nil {
		return body, err
	}
	if car.Body == nil {
		return body, fmt.Errorf("%w: no body", ErrFormat)
	}
	if blocks != nil {
		car.Body.Blocks = blocks
	}
	return *car.Body, nil
}

// readBlocks returns the table of blocks of a documents file.
func readBlocks(ctx context.Context, folder Folder, name string) ([]extract.Block, error) {
	raw, err := store.ReadFile(ctx, folder, sideCarOf(name))
	if err != nil {
		return nil, Missing(store.Join(folder.String(), sideCarOf(name)), err)
	}
	if _, blocks := cutBlockTable(raw); blocks != nil && bytes.HasPrefix(raw, fmt.Appendf(nil, `{"format_version":%d,`, FormatVersion)) {
		return blocks, nil // the rest of the side-car is not needed here
	}
	body, err := parseDocumentsBody(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s in %s: %w", sideCarOf(name), folder, err)
	}
	return body.Blocks, nil
}

// blockKeys are the JSON keys of a block in a side-car, exactly as they are written.
var blockKeys = [...]string{`{"offset":`, `,"length":`, `,"raw_length":`, `,"documents":`, `,"text_bytes":`}

// cutBlockTable parses the table of blocks at the end of a side-car, and returns the
// side-car without it. If the table is not exactly in the form in which it is
// written, blocks is nil and rest is raw. It exists because package json takes ten
// times longer, and a corpus may have millions of blocks.
func cutBlockTable(raw []byte) (rest []byte, blocks []extract.Block) {
	const key = `"blocks":[`
	start := bytes.Index(raw, []byte(key))
	if start < 0 {
		return raw, nil
	}
	b := raw[start+len(key):]
	blocks = make([]extract.Block, 0, bytes.Count(b, []byte(blockKeys[0])))
	for {
		var block extract.Block
		for i, to := range []*int64{&block.Offset, &block.Length, &block.RawLength, &block.Documents, &block.TextBytes} {
			var ok bool
			if b, ok = bytes.CutPrefix(b, []byte(blockKeys[i])); !ok {
				return raw, nil
			}
			if *to, b, ok = cutNumber(b); !ok {
				return raw, nil
			}
		}
		blocks = append(blocks, block)
		if next, ok := bytes.CutPrefix(b, []byte("},")); ok {
			b = next
			continue
		}
		if string(b) != "}]}}\n" {
			return raw, nil
		}
		rest = append(bytes.Clone(raw[:start]), `"blocks":null}}`...)
		return rest, blocks
	}
}

// cutNumber parses a decimal number of at most 18 digits at the beginning of b.
func cutNumber(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		n = 10*n + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i > 0 && i <= 18 && (i == 1 || b[0] != '0')
}
