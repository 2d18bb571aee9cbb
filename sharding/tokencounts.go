package sharding

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"pretext/extract"
)

// TokenCountsName returns the name, without suffix, of the file with the token counts that
// a task of the stage [MixFolder] writes.
func TokenCountsName(task int) string { return fmt.Sprintf("%s%05d", tokensPrefix, task) }

// TokenCountsSuffix is the suffix of the files with token counts.
const TokenCountsSuffix = ".bin"

// A CountedDocument contains the facts about a document that are needed to plan a mix.
type CountedDocument struct {
	ID        uint64 // 64-bit FNV-1a hash of the document's ID
	Tokens    uint32
	TextBytes uint32
	Language  string // BCP 47 code, "" if unknown
	HeldOut   bool
}

// TokenCounts are the documents of one task of the stage [MixFolder], in source order.
// The format of the file, with little-endian integers, is:
//
//	uvarint n, n × {uvarint length, language}
//	for each document: u64 ID, u32 tokens, u32 text bytes, u32 index of its
//	language, plus 2^31 if it is held out
type TokenCounts struct {
	languages []string
	numbers   map[string]uint32
	rows      []byte
}

const (
	countRowBytes = 20
	heldOutBit    = 1 << 31
)

// Reset removes all documents, but does not free the memory.
func (t *TokenCounts) Reset() { t.languages, t.numbers, t.rows = nil, map[string]uint32{}, t.rows[:0] }

// Add appends a document with its number of tokens.
func (t *TokenCounts) Add(doc *extract.Document, tokens int64, heldOut bool) {
	number, ok := t.numbers[doc.Lang]
	if !ok {
		number = uint32(len(t.languages))
		t.languages, t.numbers[doc.Lang] = append(t.languages, doc.Lang), number
	}
	if heldOut {
		number |= heldOutBit
	}
	le := binary.LittleEndian
	t.rows = le.AppendUint64(t.rows, idHash(doc.ID))
	t.rows = le.AppendUint32(t.rows, uint32(tokens))
	t.rows = le.AppendUint32(t.rows, uint32(len(doc.Text)))
	t.rows = le.AppendUint32(t.rows, number)
}

// WriteTo writes the content of the file.
func (t *TokenCounts) WriteTo(w io.Writer) (int64, error) {
	head := binary.AppendUvarint(nil, uint64(len(t.languages)))
	for _, l := range t.languages {
		head = append(binary.AppendUvarint(head, uint64(len(l))), l...)
	}
	n, err := w.Write(head)
	if err != nil {
		return int64(n), err
	}
	m, err := w.Write(t.rows)
	return int64(n) + int64(m), err
}

// readTokenCounts calls visit for each document in a file, in order. The document is
// valid only until visit returns.
func readTokenCounts(r io.Reader, visit func(*CountedDocument) error) error {
	in := bufio.NewReaderSize(r, 256<<10)
	languages, err := readLanguages(in)
	if err != nil {
		return err
	}
	row := make([]byte, countRowBytes)
	d := new(CountedDocument)
	for {
		_, err := io.ReadFull(in, row)
		switch err {
		case nil:
		case io.EOF:
			return nil
		case io.ErrUnexpectedEOF:
			return fmt.Errorf("%w: truncated", ErrFormat)
		default:
			return err
		}
		if err := d.decode(row, languages); err != nil {
			return err
		}
		if err := visit(d); err != nil {
			return err
		}
	}
}

// readLanguages reads the list of languages at the beginning of a file.
func readLanguages(in *bufio.Reader) (languages []string, err error) {
	n, err := readUvarint(in)
	for ; n > 0 && err == nil; n-- {
		var length uint64
		if length, err = readUvarint(in); err != nil {
			break
		}
		var name []byte
		if name, err = io.ReadAll(io.LimitReader(in, int64(min(length, extract.MaxDocumentBytes)))); uint64(len(name)) < length && err == nil {
			err = fmt.Errorf("%w: truncated list of languages", ErrFormat)
		}
		languages = append(languages, string(name))
	}
	return languages, err
}

func readUvarint(in *bufio.Reader) (uint64, error) {
	b, err := in.Peek(binary.MaxVarintLen64)
	v, n := binary.Uvarint(b)
	switch {
	case n > 0:
		_, err = in.Discard(n)
	case err == nil || err == io.EOF:
		err = fmt.Errorf("%w: truncated list of languages", ErrFormat)
	}
	return v, err
}

// decode decodes a row of the file into d.
func (d *CountedDocument) decode(row []byte, languages []string) error {
	le := binary.LittleEndian
	number := le.Uint32(row[16:])
	d.ID, d.Tokens, d.TextBytes, d.HeldOut = le.Uint64(row), le.Uint32(row[8:]), le.Uint32(row[12:]), number&heldOutBit != 0
	if number &^= heldOutBit; int(number) >= len(languages) {
		return fmt.Errorf("%w: a document of language %d of %d", ErrFormat, number, len(languages))
	}
	d.Language = languages[number]
	return nil
}

// CountTasks divides the blocks of documents into the tasks of the stage [MixFolder], in
// source order.
func CountTasks(inputs []DocumentsInput) (tasks []BlockList) {
	var open BlockList
	for i, in := range inputs {
		for _, f := range in.Files {
			for _, run := range CutBlocks(f.Blocks) {
				open = append(open, FileBlocks{Folder: i, Name: f.Name, Blocks: run})
				if open.TextBytes() >= RunBytes {
					tasks, open = append(tasks, open), nil
				}
			}
		}
	}
	if len(open) > 0 {
		tasks = append(tasks, open)
	}
	return tasks
}

// eachCounted calls visit for every document of inputs in source order. block is the
// number of the document's block among the blocks of all inputs. folder contains the
// files of the stage [MixFolder].
func eachCounted(ctx context.Context, folder Folder, inputs []DocumentsInput, visit func(block int, d *CountedDocument) error) error {
	block := -1
	for task, blocks := range CountTasks(inputs) {
		if err := ctx.Err(); err != nil {
			return err
		}
		var ends []int64 // number of documents up to the end of each block
		documents := int64(0)
		for _, f := range blocks {
			for _, b := range f.Blocks {
				documents += b.Documents
				ends = append(ends, documents)
			}
		}
		name := TokenCountsName(task) + TokenCountsSuffix
		at, read := 0, int64(0)
		err := readFile(ctx, folder, name, func(d *CountedDocument) error {
			for at < len(ends) && read == ends[at] {
				at++
			}
			if at == len(ends) {
				return fmt.Errorf("%w: more than %d documents", ErrFormat, documents)
			}
			read++
			return visit(block+1+at, d)
		})
		if err == nil && read != documents {
			err = fmt.Errorf("%w: %d documents, want %d", ErrFormat, read, documents)
		}
		if err != nil {
			return fmt.Errorf("%s in %s: %w", name, folder, err)
		}
		block += len(ends)
	}
	return nil
}

func readFile(ctx context.Context, folder Folder, name string, visit func(*CountedDocument) error) error {
	f, err := folder.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return readTokenCounts(io.NewSectionReader(f, 0, f.Size()), visit)
}

// Maximum size of a run of blocks from [CutBlocks], unless it is a single block.
const (
	RunBytes     = 32 << 20 // bytes of text
	RunDocuments = 1 << 16
)

// CutBlocks divides the blocks of a documents file into runs of at most [RunBytes] of
// text and [RunDocuments] documents. A block larger than that is a run of its own.
func CutBlocks(blocks []extract.Block) (runs [][]extract.Block) {
	var bytes, documents int64
	start := 0
	for i, b := range blocks {
		if i > start && (bytes+b.TextBytes > RunBytes || documents+b.Documents > RunDocuments) {
			runs, start, bytes, documents = append(runs, slices.Clip(blocks[start:i])), i, 0, 0
		}
		bytes, documents = bytes+b.TextBytes, documents+b.Documents
	}
	if start < len(blocks) {
		runs = append(runs, blocks[start:])
	}
	return runs
}
