package extract

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

// A Level is the compression level of a documents file. Files of all levels are zstd
// files with checksums and are read in the same way.
type Level int

// Levels of documents files.
const (
	Stored       Level = 0 // not compressed: frames of raw blocks
	DefaultLevel Level = 1 // zstd's fastest level
	MaxLevel     Level = 4 // the level with the smallest files
)

// Validate returns an error if l is not a level.
func (l Level) Validate() error {
	if l < Stored || l > MaxLevel {
		return fmt.Errorf("documents_level %d: must be from %d (not compressed) to %d", l, Stored, MaxLevel)
	}
	return nil
}

// encoder returns the encoder for a level, nil for [Stored]. It uses one
// goroutine.
func (l Level) encoder() (*zstd.Encoder, error) {
	if l == Stored {
		return nil, nil
	}
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.EncoderLevel(l)), zstd.WithLowerEncoderMem(true))
}

// Parts of a zstd frame of raw blocks (RFC 8878).
const (
	frameMagic     = 0xFD2FB528
	storedFrame    = 2<<6 | 1<<5 | 1<<2 // content size of four bytes, one segment, checksum
	maxStoredBlock = 128 << 10          // maximum content of a block
	lastBlock      = 1                  // marks the last block in its header; the type of a raw block is 0
	blockSizeShift = 3                  // position of the size in a block's header
)

// appendStored appends an uncompressed zstd frame that contains raw. raw may have at
// most 4 GiB.
func appendStored(dst, raw []byte) []byte {
	le := binary.LittleEndian
	dst = append(le.AppendUint32(dst, frameMagic), storedFrame)
	dst = le.AppendUint32(dst, uint32(len(raw)))
	for rest := raw; ; {
		n := min(len(rest), maxStoredBlock)
		header := uint32(n) << blockSizeShift
		if n == len(rest) {
			header |= lastBlock
		}
		dst = append(dst, byte(header), byte(header>>8), byte(header>>16))
		dst = append(dst, rest[:n]...)
		if rest = rest[n:]; len(rest) == 0 {
			break
		}
	}
	return le.AppendUint32(dst, uint32(xxhash.Sum64(raw)))
}
