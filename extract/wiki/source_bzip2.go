package wiki

import (
	"errors"

	"pretext/extract/bzip2"
)

// A bzip2Source decodes a bzip2 file from the first block that begins in a
// range to the end of the file.
type bzip2Source struct {
	z     *bzip2.Reader
	block bzip2.Block
	ended bool // read has already signalled the end of the range by returning no bytes
}

// newBzip2Source returns the source of a range. It decodes with z, or with a
// new reader if z is nil.
func newBzip2Source(d Dump, rng Range, z *bzip2.Reader) *bzip2Source {
	if z == nil {
		return &bzip2Source{z: bzip2.NewReader(d.File, d.Size, bzip2.Range(rng))}
	}
	z.Reset(d.File, d.Size, bzip2.Range(rng))
	return &bzip2Source{z: z}
}

// read implements source. At the end of the range it returns no bytes, once. So the
// next block is decoded only if the last page of the range continues there.
func (s *bzip2Source) read(p []byte) (int, bool, error) {
	for len(s.block.Data) == 0 {
		if s.block.Owned && !s.ended {
			if next, err := s.z.Peek(); err == nil && !next.Owned {
				s.ended = true
				return 0, false, nil
			}
		}
		var err error
		if s.block, err = s.z.Next(); err != nil {
			return 0, false, corruptBzip2(err)
		}
	}
	n := copy(p, s.block.Data)
	s.block.Data = s.block.Data[n:]
	return n, s.block.Owned, nil
}

// corruptBzip2 converts a [bzip2.CorruptError] to a [CorruptError].
func corruptBzip2(err error) error {
	if damage, ok := errors.AsType[*bzip2.CorruptError](err); ok {
		return &CorruptError{Offset: damage.Offset, Reason: "bzip2: " + damage.Reason, Err: damage}
	}
	return err
}

func (s *bzip2Source) offset() int64 { return s.block.Bit / 8 }
func (s *bzip2Source) plain() bool   { return false }
