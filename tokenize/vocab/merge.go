package vocab

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf8"
)

// A WordCount is a word and its number of occurrences.
type WordCount struct {
	Word  string
	Count int64
}

// ErrCorrupt is wrapped by every [CorruptError].
var ErrCorrupt = errors.New("corrupt word counts")

// A CorruptError locates corrupt data in a word-counts file.
type CorruptError struct {
	File   int // index of the file in the arguments of Merge, from 0
	Line   int // line number, from 1
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("word counts %d: line %d: %s", e.File, e.Line, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }

const (
	// maxWordBytes is the maximum length of a word in bytes. Words counted by
	// Counts are shorter: at most 200 characters.
	maxWordBytes = 4 << 10

	lineBuffer = 16 << 10 // read buffer for each file; no line is longer

	// MaxCount is the maximum total count of a word: 17 trillion.
	MaxCount = 1 << 44
)

// Merge merges word-counts files: it yields every word once, in byte order,
// with the sum of its counts in all files. It yields at most one error and then
// stops; the error for corrupt data is a [CorruptError]. Merge reads the files
// as a stream and holds 16 KiB of memory for each file.
func Merge(files ...io.Reader) iter.Seq2[WordCount, error] {
	return func(yield func(WordCount, error) bool) {
		if err := merge(files, func(w WordCount) bool { return yield(w, nil) }); err != nil {
			yield(WordCount{}, err)
		}
	}
}

// merge calls yield for every word of files, in byte order, until yield returns
// false.
func merge(files []io.Reader, yield func(WordCount) bool) error {
	queue := make(cursorHeap, 0, len(files))
	for i, file := range files {
		c := &cursor{file: i, lines: bufio.NewReaderSize(file, lineBuffer)}
		if err := c.next(); err == nil {
			queue = append(queue, c)
		} else if err != io.EOF {
			return err
		}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		sum := WordCount{Word: string(queue[0].word)}
		for len(queue) > 0 && string(queue[0].word) == sum.Word {
			c := queue[0]
			if sum.Count += c.count; sum.Count > MaxCount {
				return c.corrupt("%q: counts over %d", sum.Word, int64(MaxCount))
			}
			switch err := c.next(); err {
			case nil:
				heap.Fix(&queue, 0)
			case io.EOF:
				heap.Pop(&queue)
			default:
				return err
			}
		}
		if !yield(sum) {
			return nil
		}
	}
	return nil
}

// A cursor reads a word-counts file. It holds the current line.
type cursor struct {
	file  int
	lines *bufio.Reader
	line  int
	word  []byte // of the current line
	count int64
}

// next reads the next line, or returns io.EOF.
func (c *cursor) next() error {
	line, err := c.lines.ReadSlice('\n')
	switch {
	case err == io.EOF && len(line) == 0:
		return io.EOF
	case err == io.EOF:
		c.line++
		return c.corrupt("no line end: the file is truncated")
	case err == bufio.ErrBufferFull:
		c.line++
		return c.corrupt("longer than %d bytes", c.lines.Size())
	case err != nil:
		return fmt.Errorf("read word counts %d: %w", c.file, err)
	}
	c.line++
	word, number, ok := bytes.Cut(line[:len(line)-1], []byte{'\t'})
	if !ok {
		return c.corrupt("no tab")
	}
	if reason := checkWord(word); reason != "" {
		return c.corrupt("%q: %s", word, reason)
	}
	if c.line > 1 && bytes.Compare(c.word, word) >= 0 {
		return c.corrupt("%q: not sorted after %q", word, c.word)
	}
	count, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || count < 1 || count > MaxCount || string(number) != strconv.FormatInt(count, 10) {
		return c.corrupt("%q: count %q: not a number from 1 to %d", word, number, int64(MaxCount))
	}
	c.word, c.count = append(c.word[:0], word...), count
	return nil
}

func (c *cursor) corrupt(format string, args ...any) error {
	return &CorruptError{File: c.file, Line: c.line, Reason: fmt.Sprintf(format, args...)}
}

// checkWord returns why a word cannot be a line of a vocabulary, or "" if it can.
func checkWord[T string | []byte](word T) string {
	switch s := string(word); {
	case s == "":
		return "empty word"
	case len(s) > maxWordBytes:
		return "too long"
	case !utf8.ValidString(s):
		return "invalid UTF-8"
	default:
		for _, r := range s {
			if isSpaceOrControl(r) {
				return "white space or control character"
			}
		}
		return ""
	}
}

// isSpaceOrControl reports whether r is white space (property White_Space of
// PropList.txt, stable since Unicode 6.3), which a vocabulary reader might
// strip from a line, or a control character (C0 or C1).
func isSpaceOrControl(r rune) bool {
	switch {
	case r <= ' ', 0x7f <= r && r <= 0xa0, r == 0x1680, 0x2000 <= r && r <= 0x200a,
		r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

// cursorHeap implements heap.Interface, with the first word in byte order on
// top.
type cursorHeap []*cursor

func (h cursorHeap) Len() int           { return len(h) }
func (h cursorHeap) Less(i, j int) bool { return bytes.Compare(h[i].word, h[j].word) < 0 }
func (h cursorHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap) Push(x any)        { *h = append(*h, x.(*cursor)) }
func (h *cursorHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
