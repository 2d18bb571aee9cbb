// Package tfrecord reads and writes TFRecord files, TensorFlow's container for
// training examples: a sequence of records, each a byte string with its length
// and two checksums. The package does not interpret the bytes; package records
// does.
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
// To frame records in your own buffer, use [AppendFrame].
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
//			return err // a *CorruptError if the data is corrupt
//		}
//		use(payload) // valid until the next call of Next
//	}
//
// # Format
//
// A file is a sequence of frames without header or footer. An empty file is
// valid and has no records; the concatenation of two files is a valid file.
// Integers are little-endian.
//
//	+----------------+-----------------+--------------+---------------+
//	| length uint64  | crc(length) u32 | payload      | crc(payload)  |
//	| 8 bytes        | 4 bytes         | length bytes | u32, 4 bytes  |
//	+----------------+-----------------+--------------+---------------+
//
// crc is a masked CRC-32C (Castagnoli): the checksum rotated right by 15 bits plus
// 0xa282ead8 (tensorflow/core/lib/hash/crc32c.h). The mask is for payloads that contain
// checksums themselves: the CRC of data with embedded CRCs is a poor checksum.
//
// A file that was truncated between two records looks complete. Only a count or
// hash stored elsewhere, such as in a manifest, can prove that no record is
// missing.
//
// The sequence of frames may be compressed as a whole: with gzip, of one or
// several members, or with zlib. The reader detects compression by the first
// bytes. All offsets are offsets in the uncompressed stream.
//
// # Index
//
// An index file (.idx) next to the file gives random access. It is text with
// one line for each record: the offset and the length of the whole frame, in
// decimal, separated by a space, as the tfrecord2idx tools of TensorFlow and
// NVIDIA DALI write it. See [AppendIndex], [NewIndexReader] and [ReadAt].
//
// # Limits and concurrency
//
// A record has at most [MaxRecordBytes]. A length is checked against its
// checksum and this limit before memory is allocated, and the buffer grows only
// as bytes arrive, so a corrupt length cannot exhaust memory. A Reader or
// Writer must not be used by several goroutines at once; [ReadAt] and
// [AppendFrame] are safe for concurrent use.
package tfrecord

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"pretext/internal/failure"
)

// Sizes of the format.
const (
	headerBytes = 12 // length and its checksum
	footerBytes = 4  // checksum of the payload

	// FrameBytes is the size that framing adds to a payload.
	FrameBytes = headerBytes + footerBytes

	// MaxRecordBytes is the maximum payload size for reading and writing: 1
	// GiB.
	MaxRecordBytes = 1 << 30
)

// castagnoli is the table of CRC-32C. For this table, package crc32 uses the
// processor's CRC instruction if there is one.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// leastFold is the minimum number of bytes for foldCRC and foldCRC16. Below it, package crc32 is faster.
const leastFold = 256

// checksum returns the CRC-32C of b.
func checksum(b []byte) uint32 {
	switch {
	case len(b) < leastFold:
	case hasFold:
		return foldCRC(b)
	case hasFold16:
		return foldCRC16(b)
	}
	return crc32.Checksum(b, castagnoli)
}

// maskedCRC returns the checksum of b as stored in the file.
func maskedCRC(b []byte) uint32 {
	crc := checksum(b)
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// AppendFrame appends the frame of a payload to dst. The payload must not be
// longer than [MaxRecordBytes].
func AppendFrame(dst, payload []byte) []byte {
	dst = appendHeader(dst, len(payload))
	dst = append(dst, payload...)
	return binary.LittleEndian.AppendUint32(dst, maskedCRC(payload))
}

// putFrame writes the header and the checksum of a frame that already has its payload.
func putFrame(frame []byte) {
	end := len(frame) - footerBytes
	appendHeader(frame[:0], end-headerBytes)
	binary.LittleEndian.PutUint32(frame[end:], maskedCRC(frame[headerBytes:end]))
}

func appendHeader(dst []byte, length int) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(length))
	return binary.LittleEndian.AppendUint32(dst, maskedCRC(dst[start:]))
}

// parseHeader returns the payload length stored in a header. reason is "", or states that
// the header is corrupt or the length exceeds limit.
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

// ErrCorrupt is the error that every [CorruptError] and [IndexError] wraps.
var ErrCorrupt = failure.Damaged("corrupt TFRecord data")

// A CorruptError locates corrupt data in a file.
type CorruptError struct {
	Offset int64  // offset of the record's first byte, in the uncompressed stream
	Record int64  // number of the record, from 0; -1 if unknown
	Reason string // e.g. "length checksum mismatch"
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt record at byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns [ErrCorrupt].
func (e *CorruptError) Unwrap() error { return ErrCorrupt }
