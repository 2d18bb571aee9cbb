package vocab

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
)

// A TempFile is a temporary file. Close deletes it.
type TempFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// listMemory is the memory in bytes that a wordList uses before it writes to its temporary
// file.
const listMemory = 4 << 20

// A wordList is a list of words with their counts. It is written once and then
// read any number of times. A word is a string of bytes: its text, or the ids of
// its tokens as varints.
type wordList struct {
	temp   func() (TempFile, error) // creates file; if nil, the list stays in memory
	memory int                      // limit in bytes; 0 means listMemory
	file   TempFile                 // nil if the list is in memory
	size   int64                    // bytes in file
	buf    []byte                   // words that are not in file yet
	n      int                      // number of words
}

// add appends a word.
func (l *wordList) add(count int64, word []byte) error {
	l.n++
	l.buf = binary.AppendUvarint(l.buf, uint64(count))
	l.buf = binary.AppendUvarint(l.buf, uint64(len(word)))
	l.buf = append(l.buf, word...)
	if l.temp == nil || len(l.buf) < cmp.Or(l.memory, listMemory) {
		return nil
	}
	if l.file == nil {
		file, err := l.temp()
		if err != nil {
			return err
		}
		l.file = file
	}
	if _, err := l.file.WriteAt(l.buf, l.size); err != nil {
		return err
	}
	l.size += int64(len(l.buf))
	l.buf = l.buf[:0]
	return nil
}

// each calls do for every word. The word is valid until do returns.
func (l *wordList) each(ctx context.Context, do func(count int64, word []byte) error) error {
	return l.eachFrom(ctx, 0, l.n, do)
}

// eachFrom calls do for n words, beginning with the word at the position place, in bytes.
func (l *wordList) eachFrom(ctx context.Context, place int64, n int, do func(count int64, word []byte) error) error {
	var r io.Reader = bytes.NewReader(l.buf[max(0, place-l.size):])
	if place < l.size {
		r = io.MultiReader(io.NewSectionReader(l.file, place, l.size-place), r)
	}
	in := bufio.NewReaderSize(r, 64<<10) // larger than any word
	for i := range n {
		if i%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		count, word, err := nextWord(in)
		if err != nil {
			return fmt.Errorf("read word %d of a temporary file: %w", i, err)
		}
		if err := do(count, word); err != nil {
			return err
		}
	}
	return nil
}

// nextWord reads a word. It is valid until the next read.
func nextWord(in *bufio.Reader) (count int64, word []byte, err error) {
	head, err := in.Peek(2 * binary.MaxVarintLen64)
	first, a := binary.Uvarint(head)
	size, b := binary.Uvarint(head[max(a, 0):])
	if a <= 0 || b <= 0 {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	in.Discard(a + b) // cannot fail after Peek
	if word, err = in.Peek(int(size)); err != nil {
		return 0, nil, err
	}
	in.Discard(int(size)) // cannot fail after Peek
	return int64(first), word, nil
}

// places returns the positions, in bytes, of the words with the given numbers, which must
// ascend.
func (l *wordList) places(ctx context.Context, numbers []int) ([]int64, error) {
	var out []int64
	n, place := 0, int64(0)
	err := l.each(ctx, func(count int64, word []byte) error {
		for len(out) < len(numbers) && numbers[len(out)] == n {
			out = append(out, place)
		}
		n++
		place += int64(uvarintLen(uint64(count)) + uvarintLen(uint64(len(word))) + len(word))
		return nil
	})
	for len(out) < len(numbers) {
		out = append(out, place)
	}
	return out, err
}

func uvarintLen(x uint64) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutUvarint(b[:], x)
}

// close closes and thereby deletes the temporary file.
func (l *wordList) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
