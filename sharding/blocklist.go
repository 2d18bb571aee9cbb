package sharding

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"pretext/extract"
)

// A BlockList is the part of a task's plan that lists the blocks of documents to read, in
// source order. A folder is an index into the inputs of the stage, so that the plan
// contains no path.
//
// A large plan has millions of blocks, so the JSON form is a string: the base64 (standard
// alphabet, no padding) of variable-length integers, about 20 bytes a block.
// docs/file-format.md describes it. The array of objects that earlier versions wrote is
// also accepted.
type BlockList []FileBlocks

// FileBlocks lists blocks of one documents file.
type FileBlocks struct {
	Folder int             `json:"folder"`
	Name   string          `json:"name"`
	Blocks []extract.Block `json:"blocks"`
}

// add appends a block of a file. All blocks of one file must be added one after the
// other.
func (l *BlockList) add(f FileBlocks, block int) {
	at := len(*l) - 1
	if at < 0 || (*l)[at].Folder != f.Folder || (*l)[at].Name != f.Name {
		*l = append(*l, FileBlocks{Folder: f.Folder, Name: f.Name})
		at++
	}
	(*l)[at].Blocks = append((*l)[at].Blocks, f.Blocks[block])
}

// TextBytes returns the bytes of text in the blocks.
func (l BlockList) TextBytes() (n int64) {
	for _, f := range l {
		for _, b := range f.Blocks {
			n += b.TextBytes
		}
	}
	return n
}

// CountDocuments returns the number of documents in the blocks.
func (l BlockList) CountDocuments() (n int64) {
	for _, f := range l {
		for _, b := range f.Blocks {
			n += b.Documents
		}
	}
	return n
}

// LargestBlock returns the size of the text in the largest block, in bytes. A
// block grows beyond its usual size only if it is a single long document.
func (l BlockList) LargestBlock() (n int64) {
	for _, f := range l {
		for _, b := range f.Blocks {
			n = max(n, b.TextBytes)
		}
	}
	return n
}

// MarshalJSON returns the string form, or null for a nil list.
func (l BlockList) MarshalJSON() ([]byte, error) { return l.appendJSON(nil), nil }

// appendJSON appends the string form, or null for a nil list, to dst.
func (l BlockList) appendJSON(dst []byte) []byte {
	if l == nil {
		return append(dst, "null"...)
	}
	packed := l.pack(make([]byte, 0, 64+36*len(l)))
	return append(base64.RawStdEncoding.AppendEncode(append(dst, '"'), packed), '"')
}

// pack appends the integers of the string form to dst. A file name is encoded as the
// lengths of the prefix and suffix that it shares with the previous name, and the text in
// between.
func (l BlockList) pack(dst []byte) []byte {
	last := ""
	for _, f := range l {
		head, tail := commonEnds(last, f.Name)
		dst = binary.AppendUvarint(dst, uint64(f.Folder))
		dst = binary.AppendUvarint(dst, uint64(head))
		dst = binary.AppendUvarint(dst, uint64(tail))
		middle := f.Name[head : len(f.Name)-tail]
		dst = binary.AppendUvarint(dst, uint64(len(middle)))
		dst = append(dst, middle...)
		dst = binary.AppendUvarint(dst, uint64(len(f.Blocks)))
		end := int64(0)
		for _, b := range f.Blocks {
			dst = binary.AppendVarint(dst, b.Offset-end)
			dst = binary.AppendVarint(dst, b.Length)
			dst = binary.AppendVarint(dst, b.RawLength-b.TextBytes)
			dst = binary.AppendVarint(dst, b.Documents)
			dst = binary.AppendVarint(dst, b.TextBytes)
			end = b.Offset + b.Length
		}
		last = f.Name
	}
	return dst
}

// commonEnds returns the length of the common prefix of a and b, and the length of the
// common suffix of what follows the prefix.
func commonEnds(a, b string) (head, tail int) {
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

// UnmarshalJSON reads both forms.
func (l *BlockList) UnmarshalJSON(raw []byte) error {
	if !bytes.HasPrefix(raw, []byte(`"`)) {
		return json.Unmarshal(raw, (*[]FileBlocks)(l))
	}
	strict := base64.RawStdEncoding.Strict()
	packed, err := strict.AppendDecode(nil, bytes.Trim(raw, `"`))
	if err != nil { // the string may have escapes
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		packed, err = strict.DecodeString(text)
	}
	if err != nil {
		return fmt.Errorf("blocks: %w", err)
	}
	*l, err = unpackBlocks(packed)
	return err
}

// unpackBlocks is the inverse of pack.
func unpackBlocks(packed []byte) (BlockList, error) {
	r := varints{b: packed}
	list := BlockList{}
	last := ""
	for len(r.b) > 0 && r.err == nil {
		f := FileBlocks{Folder: int(r.count(maxFolders))}
		head, tail := r.count(uint64(len(last))), r.count(uint64(len(last)))
		middle := r.bytes(r.count(uint64(len(r.b))))
		if r.err != nil {
			break
		}
		f.Name = last[:head] + string(middle) + last[len(last)-int(tail):]
		n := r.count(uint64(len(r.b) / minBlockBytes))
		f.Blocks = make([]extract.Block, n)
		end := int64(0)
		for i := range f.Blocks {
			b := extract.Block{Offset: end + r.number(), Length: r.number(), RawLength: r.number(), Documents: r.number(), TextBytes: r.number()}
			b.RawLength += b.TextBytes
			end = b.Offset + b.Length
			f.Blocks[i] = b
		}
		list, last = append(list, f), f.Name
	}
	return list, r.err
}

const (
	minBlockBytes = 5       // minimum size of a packed block: one byte for each number
	maxFolders    = 1 << 20 // maximum number of documents folders of a run
)

var errBlocks = errors.New("blocks: not a list of packed blocks")

// varints reads variable-length integers. After an error, all further reads return 0.
type varints struct {
	b   []byte
	err error
}

// count reads an unsigned integer. A value above limit is an error.
func (r *varints) count(limit uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > limit {
		r.b, r.err = nil, errBlocks
		return 0
	}
	r.b = r.b[n:]
	return v
}

// number reads a signed integer.
func (r *varints) number() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b, r.err = nil, errBlocks
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *varints) bytes(n uint64) []byte {
	if uint64(len(r.b)) < n {
		r.b, r.err = nil, errBlocks
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}
