package pretrain

import (
	"fmt"
	"io"
)

// A Scratch says where examples wait for the last shuffle. The zero value
// keeps all of them in memory.
type Scratch struct {
	// MemoryBytes is how much of them stays in memory when Create is given;
	// rounded up to whole MiB, and one more serves as a buffer of the file.
	MemoryBytes int64

	// Create returns an empty file for what exceeds MemoryBytes. It is called
	// at most once a Build, which closes the file at its end; to remove it is
	// the file's own business (an unlinked temporary file needs nothing).
	Create func() (ScratchFile, error)
}

// A ScratchFile is written from its beginning to its end, then read at random.
type ScratchFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// chunkBytes is the unit of the scratch. No record crosses its borders; the
// longest, 65,535 tokens of five bytes all predicted, takes 851,979 bytes.
const chunkBytes = 1 << 20

// A store holds records at addresses that grow from 0: the first chunks in
// memory, the others in a file, one after the other.
type store struct {
	config Scratch
	chunks [][]byte // in memory; kept from Build to Build
	limit  int      // chunks to hold in memory before the file is used; -1: all
	file   ScratchFile
	tail   []byte // the chunk that goes to the file next
	buf    []byte // what was read from the file

	chunk int // number of the chunk being filled
	used  int // bytes of it
}

func newStore(config Scratch) *store {
	s := &store{config: config, limit: -1}
	if config.Create != nil {
		bytes := max(0, config.MemoryBytes)
		s.limit = int(bytes / chunkBytes)
		if bytes%chunkBytes != 0 {
			s.limit++
		}
	}
	return s
}

// reserve returns the place of the next record and its address. What follows
// is commit.
func (s *store) reserve(size int) (place []byte, address uint64, err error) {
	if s.used+size > chunkBytes {
		if err := s.flush(); err != nil {
			return nil, 0, err
		}
		s.chunk++
		s.used = 0
	}
	current, err := s.current()
	if err != nil {
		return nil, 0, err
	}
	return current[s.used : s.used+size], uint64(s.chunk)*chunkBytes + uint64(s.used), nil
}

// commit keeps the first size bytes of what reserve returned.
func (s *store) commit(size int) { s.used += size }

func (s *store) inMemory(chunk int) bool { return s.limit < 0 || chunk < s.limit }

func (s *store) current() ([]byte, error) {
	if s.inMemory(s.chunk) {
		if s.chunk == len(s.chunks) {
			s.chunks = append(s.chunks, make([]byte, chunkBytes))
		}
		return s.chunks[s.chunk], nil
	}
	if s.file == nil {
		file, err := s.config.Create()
		if err != nil {
			return nil, fmt.Errorf("create scratch file: %w", err)
		}
		s.file = file
	}
	if s.tail == nil {
		s.tail = make([]byte, chunkBytes)
	}
	return s.tail, nil
}

// flush writes the current chunk, if it belongs to the file.
func (s *store) flush() error {
	if s.inMemory(s.chunk) || s.used == 0 {
		return nil
	}
	if _, err := s.file.WriteAt(s.tail[:s.used], s.fileOffset(s.chunk)); err != nil {
		return fmt.Errorf("write scratch file: %w", err)
	}
	return nil
}

func (s *store) fileOffset(chunk int) int64 { return int64(chunk-s.limit) * chunkBytes }

// read returns the bytes at an address, at least those of the record there,
// which has at most size. They are valid until the next call. The last chunk
// must have been flushed.
func (s *store) read(address uint64, size int) ([]byte, error) {
	chunk, offset := int(address/chunkBytes), int(address%chunkBytes)
	size = min(size, chunkBytes-offset)
	if s.inMemory(chunk) {
		return s.chunks[chunk][offset : offset+size], nil
	}
	if cap(s.buf) < size {
		s.buf = make([]byte, size)
	}
	n, err := s.file.ReadAt(s.buf[:size], s.fileOffset(chunk)+int64(offset))
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read scratch file: %w", err)
	}
	return s.buf[:n], nil
}

// reset forgets all records, closes the file and keeps the memory.
func (s *store) reset() error {
	s.chunk, s.used = 0, 0
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	if err := file.Close(); err != nil {
		return fmt.Errorf("close scratch file: %w", err)
	}
	return nil
}
