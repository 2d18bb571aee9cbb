package tfrecord

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// writerBufferBytes is the size of a Writer's buffer.
const writerBufferBytes = 256 << 10

// WriterOptions configures a [Writer].
type WriterOptions struct {
	// Gzip compresses the file as a single gzip member, because TensorFlow
	// reads only the first member.
	Gzip bool
	// Index builds the file's index in memory, about 12 bytes for each record;
	// see [Writer.Index].
	Index bool
}

// An Exchanger is a stream that takes a full buffer and returns an empty one in exchange,
// so that it can write in the background while the caller fills the next buffer.
type Exchanger interface {
	// Exchange starts to write full and returns an empty buffer. The error may be that of
	// an earlier buffer.
	Exchange(full []byte) (empty []byte, err error)
	// Wait returns when all buffers are written, with the first error.
	Wait() error
}

// A Writer writes records to a file. If the underlying writer is an [Exchanger], the file
// is written in the background. A Writer is buffered: call [Writer.Close] at the end. It
// must not be used by several goroutines at once.
type Writer struct {
	opts   WriterOptions
	out    io.Writer    // receives the bytes of the file
	gz     *gzip.Writer // between buf and out; nil without compression
	buf    []byte       // whole frames
	index  []byte
	offset int64
	err    error
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer, opts WriterOptions) *Writer {
	z := &Writer{opts: opts, buf: make([]byte, 0, writerBufferBytes)}
	z.Reset(w)
	return z
}

// Reset makes w write a new file to out, with the same options and the same buffers.
func (w *Writer) Reset(out io.Writer) {
	w.out, w.buf, w.index, w.offset, w.err = out, w.buf[:0], w.index[:0], 0, nil
	switch {
	case !w.opts.Gzip:
	case w.gz == nil:
		w.gz = gzip.NewWriter(out)
	default:
		w.gz.Reset(out)
	}
}

// Write appends a record. It does not retain the payload. After a write error
// every call returns that error.
func (w *Writer) Write(payload []byte) error {
	if len(payload) > MaxRecordBytes {
		return fmt.Errorf("write record: %d bytes are over the limit of %d", len(payload), MaxRecordBytes)
	}
	length := FrameBytes + len(payload)
	if len(w.buf)+length > cap(w.buf) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if w.inPlace(payload) {
		w.buf = w.buf[:len(w.buf)+length]
		putFrame(w.buf[len(w.buf)-length:])
	} else {
		w.buf = AppendFrame(w.buf, payload)
	}
	if w.opts.Index {
		w.index = AppendIndex(w.index, Span{Offset: w.offset, Length: int64(length)})
	}
	w.offset += int64(length)
	return w.err
}

// Space returns memory, of length 0 and capacity n, for a payload of up to n bytes. If the
// caller fills it and passes it to [Writer.Write] as its next call, Write does not copy the
// payload. The result is nil if n is too large for the buffer.
func (w *Writer) Space(n int) []byte {
	if n > writerBufferBytes-FrameBytes {
		return nil
	}
	if len(w.buf)+FrameBytes+n > cap(w.buf) {
		w.Flush() // Write returns the error
	}
	at := len(w.buf) + headerBytes
	return w.buf[at : at : at+n]
}

// inPlace reports whether a payload begins in the memory that Space would return.
func (w *Writer) inPlace(payload []byte) bool {
	at := len(w.buf) + headerBytes
	return len(payload) > 0 && at < cap(w.buf) && &payload[0] == &w.buf[:cap(w.buf)][at]
}

// Offset returns the number of bytes framed so far, before compression: the
// offset of the next record.
func (w *Writer) Offset() int64 { return w.offset }

// Index returns the index of the records written so far, or nothing without
// [WriterOptions.Index]. The result is valid until the next call of [Writer.Write] or
// [Writer.Reset].
func (w *Writer) Index() []byte { return w.index }

// Flush writes all buffered frames to the compressor or the underlying writer.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		if err := w.pass(); err != nil {
			w.err = fmt.Errorf("write records: %w", err)
		}
	}
	w.buf = w.buf[:0]
	// Replaces the buffer if a very long record made it grow, or if a failed Exchanger kept
	// the buffer.
	if cap(w.buf) > 16*writerBufferBytes || cap(w.buf) < writerBufferBytes {
		w.buf = make([]byte, 0, writerBufferBytes)
	}
	return w.err
}

// pass writes the buffer to the compressor, the Exchanger or the underlying writer.
func (w *Writer) pass() (err error) {
	if w.gz != nil {
		_, err = w.gz.Write(w.buf)
	} else if x, ok := w.out.(Exchanger); ok {
		w.buf, err = x.Exchange(w.buf)
	} else {
		_, err = w.out.Write(w.buf)
	}
	return err
}

// Close writes all buffered frames and ends the compressed stream. It does not close the
// underlying writer.
func (w *Writer) Close() error {
	err := w.Flush()
	if err != nil {
		return err
	}
	if x, ok := w.out.(Exchanger); ok && w.gz == nil {
		err = x.Wait()
	} else if w.gz != nil {
		err = w.gz.Close()
	}
	if err != nil {
		w.err = fmt.Errorf("write records: %w", err)
	}
	return w.err
}
