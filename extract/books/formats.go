package books

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"

	"pretext/extract"
	"pretext/extract/text"
)

// maxNestedBytes is the maximum size of an EPUB inside an archive. Such an EPUB is held
// in memory, because it must be read from its end.
const maxNestedBytes = 64 << 20

// readLone reads a source that is a single file. Its first bytes determine the
// format.
func (r *Reader) readLone(f File, base string) error {
	var head [4]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if isZip(head[:n]) || promises(base) == zipped {
		return r.readZip(f, base)
	}
	plain, err := text.Decompress(base, io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return err
	}
	defer plain.Close()
	in := bufio.NewReaderSize(plain, 64<<10)
	compressed := text.IsCompressed(head[:n])
	if compressed {
		ahead := r.team.NewAhead(plain)
		defer ahead.Close()
		in.Reset(ahead)
	}
	block, err := in.Peek(tarBlock)
	if isTar(block) || promises(base) == tarred {
		err := r.readTar(in)
		if err == nil && compressed {
			_, err = io.Copy(io.Discard, in) // the checksum of what was read comes after the end of the archive
		}
		return err
	}
	if err != nil && err != io.EOF {
		return err
	}
	return r.readPlain(base, in)
}

// readPlain reads a text file. If src is a decompressor and reports corrupt data,
// readPlain returns that error and does not reject the book.
func (r *Reader) readPlain(name string, src io.Reader) error {
	clean, ok := cleanName(name)
	if !ok {
		return r.finish(badName())
	}
	if r.opts.LinesPerDocument > 0 {
		return r.readLines(clean, src)
	}
	b, err := r.plain(clean, src)
	if err != nil {
		return err
	}
	return r.finish(b)
}

// badName returns the rejected book for a file whose name is empty or too long
// after cleaning.
func badName() book {
	return book{reject: extract.RejectMalformed, note: "unusable file name"}
}

// readOne reads the file with the given name in the task's folder.
func (r *Reader) readOne(name string) error {
	f, err := r.store.Open(string(r.task.Path), name)
	if err != nil {
		return err
	}
	defer f.Close()
	if kindOf(name) == epub {
		clean, ok := cleanName(name)
		if !ok {
			return r.finish(badName())
		}
		return r.readEPUB(clean, f, f.Size())
	}
	return r.readPlain(name, bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size()), 64<<10))
}

// isBook reports whether an archive member is a book by its name. A Parquet file must be
// read from its end, which is not possible in an archive.
func isBook(name string) bool {
	kind := kindOf(name)
	return kind != other && kind != rows
}

// readMember reads the book that is the archive member with the given name. If only this
// member is corrupt, the book is rejected.
func (r *Reader) readMember(name string, open func() (io.Reader, error)) error {
	kind := kindOf(name)
	clean, ok := cleanName(name)
	if !ok {
		return r.finish(badName())
	}
	src, err := open()
	if err == nil {
		if kind == txt && r.opts.LinesPerDocument > 0 {
			if err = r.readLines(clean, src); err == nil {
				return nil
			}
		} else if kind == txt {
			var b book
			if b, err = r.plain(clean, src); err == nil {
				return r.finish(b)
			}
		} else {
			var held []byte
			held, err = io.ReadAll(io.LimitReader(src, maxNestedBytes+1))
			if err == nil && len(held) > maxNestedBytes {
				return r.finish(book{name: clean, reject: extract.RejectTooLarge})
			}
			if err == nil {
				err = r.readEPUB(clean, bytes.NewReader(held), int64(len(held)))
			}
			if err == nil {
				return nil
			}
		}
	}
	var bad *memberError
	if errors.As(err, &bad) {
		return r.finish(damaged(clean, bad.Error()))
	}
	return err
}

// A memberError reports that one member of an archive cannot be read, and why. Other
// members may be readable.
type memberError struct{ reason string }

func (e *memberError) Error() string { return e.reason }

// readEPUB reads an EPUB of the given size in bytes. If it is corrupt, it is
// rejected.
func (r *Reader) readEPUB(name string, src io.ReaderAt, size int64) error {
	z, err := openZip(src, size)
	if err == nil {
		var b book
		if b, err = r.epub(name, z); err == nil {
			return r.finish(b)
		}
	}
	var bad *memberError
	var corrupt *CorruptError
	switch {
	case errors.As(err, &bad):
		return r.finish(damaged(name, bad.reason))
	case errors.As(err, &corrupt):
		return r.finish(damaged(name, corrupt.Reason))
	}
	return err
}

// readZip reads a single file that is an EPUB or another zip archive with
// books.
func (r *Reader) readZip(f File, base string) error {
	z, err := openZip(f, f.Size())
	if err != nil {
		return r.locate(err)
	}
	isBook, err := z.isEPUB()
	if err != nil {
		return r.locate(err)
	}
	if isBook {
		name, ok := cleanName(base)
		if !ok {
			return r.finish(badName())
		}
		return r.readEPUB(name, f, f.Size())
	}
	c := &crew{r: r, team: r.team}
	for entry, err := range z.entries() {
		if err == nil {
			err = r.readEntry(z, entry, c)
		}
		if err == errStopped {
			return err
		}
		if err != nil {
			return cmp.Or(c.drain(), r.locate(err))
		}
	}
	return c.drain()
}

// readEntry reads a member of a zip archive if it is a book.
func (r *Reader) readEntry(z *zipArchive, entry *zipEntry, c *crew) error {
	name := entry.path()
	if !entry.regular() || !isBook(name) {
		r.stats.Skipped++
		return nil
	}
	if !c.takes(int64(min(entry.packed, maxHeldBytes+1))) {
		if err := c.drain(); err != nil {
			return err
		}
		return r.readMember(name, func() (io.Reader, error) { return z.open(entry) })
	}
	h := held{name: name, size: int64(min(entry.size, maxFileBytes))}
	packed, err := z.packed(entry)
	var bad *memberError
	switch {
	case errors.As(err, &bad):
		h.open = func(io.Reader, *inflater) (io.Reader, error) { return nil, bad }
		return c.add(h, 0, nil)
	case err != nil:
		return err
	}
	h.open = func(data io.Reader, with *inflater) (io.Reader, error) { return entry.unpack(data, with) }
	return c.add(h, int64(entry.packed), packed)
}

// locate adds the name of the source to a [CorruptError] without a file name.
func (r *Reader) locate(err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) && corrupt.File == "" {
		return &CorruptError{File: r.base(), Offset: corrupt.Offset, Reason: corrupt.Reason}
	}
	return err
}
