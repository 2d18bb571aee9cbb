package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/tokenize"
)

// A RecordsFile describes the text of one TFRecord file.
type RecordsFile struct {
	Name     string `json:"name"`
	Examples int64  `json:"examples"`
	Segments int64  `json:"segments"`
}

// Records writes the examples of TFRecord files without a manifest as text, one text file
// for each TFRecord file. An example becomes three lines: segment A, segment B, and a
// blank line. Records replaces masked tokens by the original tokens and joins word
// pieces. Case, spaces and order remain as in the records. vocab is the path of the
// vocab.txt of the records; "" means the vocab.txt in the directory of the first file.
func Records(ctx context.Context, files []string, vocab, out string) ([]RecordsFile, error) {
	if vocab == "" {
		vocab = store.Join(store.Dir(files[0]), sharding.VocabName)
		if _, err := store.Stat(ctx, vocab); err != nil {
			return nil, failure.Usagef("%s: the records have no manifest, and no %s is in their directory: give --vocab FILE", store.Dir(files[0]), sharding.VocabName)
		}
	}
	raw, err := store.ReadSmall(ctx, vocab, store.Tokens)
	if err != nil {
		return nil, err
	}
	v, err := tokenize.ReadVocab(vocab, raw)
	if err != nil {
		return nil, fmt.Errorf("%w vocabulary: %w", sharding.ErrDamaged, err)
	}
	var names []string
	for _, path := range files {
		name := textOf(path)
		if slices.Contains(names, name) {
			return nil, failure.Usagef("two TFRecord files would both be written to %s", name)
		}
		names = append(names, name)
	}
	var list []RecordsFile
	err = into(ctx, out, names, func(folder store.Folder) error {
		for _, path := range files {
			e, err := exportRecords(ctx, folder, path, v)
			if err != nil {
				return err
			}
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// textOf returns the name of the text file for a TFRecord file.
func textOf(path string) string { return store.Base(path) + ".txt" }

// exportRecords writes the text of one TFRecord file.
func exportRecords(ctx context.Context, out store.Folder, path string, v *tokenize.Vocab) (e RecordsFile, err error) {
	e.Name = textOf(path)
	in, err := store.OpenPath(ctx, path)
	if err != nil {
		return e, err
	}
	defer in.Close()
	file, err := out.Create(ctx, e.Name)
	if err != nil {
		return e, err
	}
	defer file.Abort()
	w := bufio.NewWriterSize(file, 1<<20)
	r := tfrecord.NewReader(store.NewReader(in, 0), tfrecord.ReaderOptions{})
	var example records.Example
	for {
		payload, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = errors.Join(example.Decode(payload), ctx.Err())
		}
		var n int64
		if err == nil {
			n, err = writeSegments(w, &example, v)
		}
		if err != nil {
			return e, fmt.Errorf("%s: record %d: %w", path, e.Examples, err)
		}
		e.Examples++
		e.Segments += n
	}
	if err := w.Flush(); err != nil {
		return e, err
	}
	return e, file.Replace(nil)
}

// writeSegments writes each segment of an example as a line, then a blank line,
// and returns the number of segments.
func writeSegments(w *bufio.Writer, e *records.Example, v *tokenize.Vocab) (segments int64, err error) {
	n := min(e.Tokens(), len(e.InputIDs), len(e.SegmentIDs))
	ids := append([]int32(nil), e.InputIDs[:n]...)
	for i, at := range e.MaskedLMPositions[:min(e.Predictions(), len(e.MaskedLMIDs), len(e.MaskedLMPositions))] {
		if int(at) >= 0 && int(at) < n {
			ids[at] = e.MaskedLMIDs[i]
		}
	}
	for from := 0; from < n; {
		to := from + 1
		for to < n && e.SegmentIDs[to] == e.SegmentIDs[from] {
			to++
		}
		for _, id := range ids[from:to] {
			if id < 0 || int(id) >= v.Len() {
				return segments, fmt.Errorf("%w: id %d: not an id of a vocabulary of %d tokens: were the records made with another vocabulary?", records.ErrExample, id, v.Len())
			}
		}
		if line := v.Decode(ids[from:to]); line != "" {
			w.WriteString(line)
			w.WriteByte('\n')
			segments++
		}
		from = to
	}
	return segments, w.WriteByte('\n')
}
