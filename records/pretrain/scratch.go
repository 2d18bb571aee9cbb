package pretrain

import (
	"fmt"
	"io"
)

// Scratch configures where examples are stored until the final shuffle. The zero value
// stores all of them in memory.
type Scratch struct {
	// MemoryBytes is the memory for examples if Create is set. It is rounded up to whole
	// MiB; the write buffer of the file takes one more MiB.
	MemoryBytes int64

	// Create returns an empty file for the examples that exceed MemoryBytes. Build calls it
	// at most once, and closes the file at the end but does not remove it. An unlinked
	// temporary file needs no removal.
	Create func() (ScratchFile, error)
}

// A ScratchFile is a file that a [Builder] writes sequentially and then reads
// in random order.
type ScratchFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// chunkBytes is the size of a chunk of the store. No instance crosses the border between
// two chunks. The longest possible instance takes 852,043 bytes: 65,535 tokens of five
// bytes each, all of them predicted.
const chunkBytes = 1 << 20

// A store holds instances in chunks. The address of an instance is returned by reserve;
// addresses ascend from 0. The first chunks are in memory, the others in a file.
type store struct {
	config Scratch
	chunks [][]byte // in memory; reused by the next Build
	limit  int      // number of chunks in memory before the file is used; -1 for no limit
	file   ScratchFile
	tail   []byte // the next chunk to be written to the file
	buf    []byte // buffer for the result of read

	chunk int // number of the chunk being filled
	used  int // bytes used in that chunk
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

// reserve returns a buffer of size bytes for the next instance, and its address. The caller
// must then call commit.
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

// commit stores the first size bytes of the buffer that the last call of
// reserve returned.
func (s *store) commit(size int) { s.used += size }

func (s *store) inMemory(chunk int) bool { return s.limit < 0 || chunk < s.limit }

func (s *store) current() ([]byte, error) {
	if s.inMemory(s.chunk) {
		if s.chunk == len(s.chunks) {
			// Large pages would make the random reads cheaper, but a virtual machine that gives
			// free ones back to its host pays more for each new one than they save.
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

// flush writes the current chunk to the file, unless it stays in memory.
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

// read returns size bytes from an address on, or fewer at the end of a chunk or of the
// store. They are valid until the next call. The last chunk must have been flushed.
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

// fetch begins to load the instance at an address into the processor's cache, if it is in
// memory.
func (s *store) fetch(address uint64) {
	if chunk := int(address / chunkBytes); s.inMemory(chunk) {
		fetch(&s.chunks[chunk][address%chunkBytes])
	}
}

// touch replaces fetch on processors without a prefetch instruction. It reads the first
// 320 bytes, enough for most instances, of those at these addresses that are in memory, so
// that they are in the processor's cache. The reads do not depend on each other, so their
// waits overlap. The result has no meaning; it keeps the compiler from removing the reads.
func (s *store) touch(addresses []uint64) (x byte) {
	for _, address := range addresses {
		chunk, offset := int(address/chunkBytes), int(address%chunkBytes)
		if !s.inMemory(chunk) {
			continue
		}
		const line = 64 // bytes of a cache line
		c := s.chunks[chunk][offset:]
		end := len(c) - 1
		x ^= c[0] ^ c[min(line, end)] ^ c[min(2*line, end)] ^ c[min(3*line, end)] ^ c[min(4*line, end)]
	}
	return x
}

// reset drops all instances and closes the file, but keeps the memory for reuse.
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
