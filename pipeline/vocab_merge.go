package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/sync/errgroup"

	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/tokenize/vocab"
)

// mergeAtOnce is the maximum number of word count files that are open at the same time.
const mergeAtOnce = 256

// opensAtOnce is how many of these are opened concurrently: in an object store each takes some
// hundredths of a second, and there may be a hundred thousand.
const opensAtOnce = 32

// A countsMerge merges the word count files of all tasks. If there are too many files, it
// first merges groups of files to parts of a temporary file, and then merges these parts.
type countsMerge struct {
	folder store.Folder
	temp   func() (store.Scratch, error) // creates a temporary file
	names  []string                      // names of the word count files
	atOnce int                           // maximum number of files in a group
}

func newCountsMerge(env *stage.Env, results []stage.Result) *countsMerge {
	m := &countsMerge{folder: env.Folder, temp: env.TempFile, atOnce: mergeAtOnce}
	for _, r := range results {
		m.names = append(m.names, r.SideCar[:len(r.SideCar)-len(sharding.SideCarSuffix)]+countsSuffix)
	}
	return m
}

// words yields every word once, in byte order, with its total count, and at most one
// error.
func (m *countsMerge) words(ctx context.Context) iter.Seq2[vocab.WordCount, error] {
	return func(yield func(vocab.WordCount, error) bool) {
		err := m.each(ctx, func(w vocab.WordCount) bool { return yield(w, nil) })
		if err != nil {
			yield(vocab.WordCount{}, err)
		}
	}
}

// each calls yield for every word until it returns false.
func (m *countsMerge) each(ctx context.Context, yield func(vocab.WordCount) bool) error {
	if len(m.names) <= m.atOnce {
		return m.group(ctx, 0, len(m.names), yield)
	}
	spill, err := m.temp()
	if err != nil {
		return err
	}
	defer spill.Close()
	var parts []io.Reader
	end := int64(0)
	for first := 0; first < len(m.names); first += m.atOnce {
		out := &countsWriter{w: bufio.NewWriterSize(io.NewOffsetWriter(spill, end), 1<<20)}
		if err := m.group(ctx, first, min(first+m.atOnce, len(m.names)), out.write); err != nil {
			return err
		}
		if err := errors.Join(out.err, out.w.Flush()); err != nil {
			return err
		}
		parts = append(parts, io.NewSectionReader(spill, end, out.n))
		end += out.n
	}
	return mergeWords(ctx, parts, yield)
}

// group merges the files m.names[first:end].
func (m *countsMerge) group(ctx context.Context, first, end int, yield func(vocab.WordCount) bool) (err error) {
	files := make([]store.File, end-first)
	defer func() {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}()
	var g errgroup.Group
	g.SetLimit(opensAtOnce)
	for i, name := range m.names[first:end] {
		g.Go(func() (err error) {
			files[i], err = store.OpenAt(ctx, m.folder, name, 0, store.ToEnd)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var readers []io.Reader
	for _, f := range files {
		readers = append(readers, store.NewReader(f, 0))
	}
	err = mergeWords(ctx, readers, yield)
	if corrupt := (*vocab.CorruptError)(nil); errors.As(err, &corrupt) {
		corrupt.File += first
	}
	return err
}

func mergeWords(ctx context.Context, files []io.Reader, yield func(vocab.WordCount) bool) error {
	n := 0
	for w, err := range vocab.Merge(files...) {
		if n++; err == nil && n%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil || !yield(w) {
			return err
		}
	}
	return ctx.Err()
}

// A countsWriter writes word counts in the format that the merge reads.
type countsWriter struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (c *countsWriter) write(w vocab.WordCount) bool {
	n, err := fmt.Fprintf(c.w, "%s\t%d\n", w.Word, w.Count)
	c.n, c.err = c.n+int64(n), err
	return err == nil
}
