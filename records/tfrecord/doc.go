// Package tfrecord reads and writes TFRecord files, the framing in which
// TensorFlow keeps training examples: a sequence of records, each a string of
// bytes with its length and two checksums. What the bytes mean is not its
// concern; see package records.
//
// Writing:
//
//	w := tfrecord.NewWriter(file, tfrecord.WriterOptions{Index: true})
//	for _, payload := range payloads {
//		if err := w.Write(payload); err != nil {
//			return err
//		}
//	}
//	if err := w.Close(); err != nil {
//		return err
//	}
//	_, err := indexFile.Write(w.Index())
//	return err
//
// A caller with a buffer of its own uses [AppendFrame].
//
// Reading:
//
//	r := tfrecord.NewReader(file, tfrecord.ReaderOptions{})
//	for {
//		payload, err := r.Next()
//		if err == io.EOF {
//			return nil
//		}
//		if err != nil {
//			return err // a *CorruptError where the data is damaged
//		}
//		use(payload) // until the next call of Next
//	}
//
// # Format
//
// There is no header and no footer: a file is its frames, an empty file is one
// without records, and files concatenated are a file. Integers are
// little-endian.
//
//	+----------------+-----------------+--------------+---------------+
//	| length uint64  | crc(length) u32 | payload      | crc(payload)  |
//	| 8 bytes        | 4 bytes         | length bytes | u32, 4 bytes  |
//	+----------------+-----------------+--------------+---------------+
//
// crc is a masked CRC-32C (Castagnoli): the checksum rotated right by 15 bits
// plus 0xa282ead8, so that the checksum of data that contains checksums stays
// useful.
//
// A file truncated between two records looks like a shorter file: only a count
// or hash kept elsewhere (a manifest) proves that a file is complete.
//
// The reader detects compression by the first bytes: gzip, of one member or
// several, or zlib, around the whole sequence of frames. All offsets are those
// of the uncompressed stream.
//
// # Index
//
// Beside a file may lie its .idx, one line of text a record: offset and length
// of the whole frame, in decimal, with a space between and a line feed after,
// as TensorFlow's and NVIDIA DALI's tfrecord2idx write it. See [AppendIndex],
// [NewIndexReader] and [ReadAt].
//
// # Limits and concurrency
//
// A record holds at most [MaxRecordBytes]; a length is checked against its
// checksum and that limit before memory is taken for it, and memory grows only
// as bytes arrive. Readers and writers are for one goroutine; [ReadAt] and
// [AppendFrame] are for any number.
package tfrecord

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Sizes of the format.
const (
	headerBytes = 12 // length and its checksum
	footerBytes = 4  // checksum of the payload

	// FrameBytes is what framing adds to a payload.
	FrameBytes = headerBytes + footerBytes

	// MaxRecordBytes is the longest payload that is written or read: 1 GiB.
	MaxRecordBytes = 1 << 30
)

// castagnoli is the table of CRC-32C, computed with the processor's
// instruction where it has one.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is the checksum as the format stores it.
func maskedCRC(b []byte) uint32 {
	crc := crc32.Checksum(b, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// AppendFrame appends the frame of a payload, which must not be longer than
// [MaxRecordBytes], to dst.
func AppendFrame(dst, payload []byte) []byte {
	dst = appendHeader(dst, len(payload))
	dst = append(dst, payload...)
	return binary.LittleEndian.AppendUint32(dst, maskedCRC(payload))
}

func appendHeader(dst []byte, length int) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(length))
	return binary.LittleEndian.AppendUint32(dst, maskedCRC(dst[start:]))
}

// parseHeader returns the length of the payload that follows a header. The
// reason is "" for a header that may be trusted.
func parseHeader(h []byte, limit int64) (length int64, reason string) {
	if binary.LittleEndian.Uint32(h[8:headerBytes]) != maskedCRC(h[:8]) {
		return 0, "length checksum mismatch"
	}
	n := binary.LittleEndian.Uint64(h)
	if n > uint64(limit) {
		return 0, fmt.Sprintf("length %d over the limit of %d bytes", n, limit)
	}
	return int64(n), ""
}

// payloadIntact reports whether a payload matches the checksum that follows it.
func payloadIntact(payload, footer []byte) bool {
	return binary.LittleEndian.Uint32(footer) == maskedCRC(payload)
}

// ErrCorrupt is what every [CorruptError] wraps.
var ErrCorrupt = errors.New("corrupt TFRecord data")

// A CorruptError locates corrupt data in a file.
type CorruptError struct {
	Offset int64  // of the record's first byte, in the uncompressed stream
	Record int64  // number of the record, from 0; -1 if unknown
	Reason string // e.g. "length checksum mismatch"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt record at byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }
