package tfrecord

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// writerBufferBytes is the number of bytes that a Writer buffers before it
// writes.
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

// An Exchanger is a stream that takes a full buffer and gives an empty one for it, so
// that it can write while the next buffer is filled.
type Exchanger interface {
	// Exchange returns an empty buffer, and an error if full or an earlier buffer could
	// not be written.
	Exchange(full []byte) (empty []byte, err error)
	// Wait returns when all buffers are written, with the first error.
	Wait() error
}

// A Writer writes records to a file. If the stream is an [Exchanger], it need not wait
// for it. It is buffered: call [Writer.Close] at the
// end. It must not be used by several goroutines at once.
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

// Reset makes w write another file, to out, with the same options and the same
// memory.
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

// Space returns memory for a payload of up to n bytes, which [Writer.Write] need not
// copy if it is the next call of a method. The memory has length 0 and capacity n. It
// is nil if n is too large for the buffer.
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

// inPlace reports whether a payload is where Space returned memory.
func (w *Writer) inPlace(payload []byte) bool {
	at := len(w.buf) + headerBytes
	return len(payload) > 0 && at < cap(w.buf) && &payload[0] == &w.buf[:cap(w.buf)][at]
}

// Offset returns the number of bytes framed so far, before compression: the
// offset of the next record.
func (w *Writer) Offset() int64 { return w.offset }

// Index returns the index of the records written so far, or nothing without
// [WriterOptions.Index]. It is valid until the next call of [Writer.Write] or
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
	// An unusually long record made it grow, or an Exchanger that failed has kept it.
	if cap(w.buf) > 16*writerBufferBytes || cap(w.buf) < writerBufferBytes {
		w.buf = make([]byte, 0, writerBufferBytes)
	}
	return w.err
}

// pass passes the buffer on.
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

// Close flushes and ends the compressed stream. It does not close the
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
