package wiki

import (
	"errors"
	"io"

	"pretext/extract/bzip2"
)

// A bzip2Source reads the blocks that begin in a range of a bzip2 file, and
// those that follow.
type bzip2Source struct {
	z     *bzip2.Reader
	block bzip2.Block
}

func newBzip2Source(r io.ReaderAt, size int64, rng Range) *bzip2Source {
	return &bzip2Source{z: bzip2.NewReader(r, size, bzip2.Range(rng))}
}

func (s *bzip2Source) read(p []byte) (int, bool, error) {
	for len(s.block.Data) == 0 {
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
