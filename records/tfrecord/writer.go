package tfrecord

import (
	"fmt"
	"io"
)

// writerBufferBytes is how much a Writer collects before it writes.
const writerBufferBytes = 64 << 10

// A Writer frames records into a stream. It buffers: call [Writer.Flush] at
// the end. Closing the stream is the caller's.
type Writer struct {
	w      io.Writer
	buf    []byte
	offset int64
	err    error
}

// NewWriter returns a Writer of frames into w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, buf: make([]byte, 0, writerBufferBytes)}
}

// Write appends a record. It keeps nothing of the payload. After an error of
// the stream every call returns that error.
func (w *Writer) Write(payload []byte) error {
	if len(payload) > MaxRecordBytes {
		return fmt.Errorf("write record: %d bytes are over the limit of %d", len(payload), MaxRecordBytes)
	}
	if len(w.buf)+FrameBytes+len(payload) > cap(w.buf) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	w.buf = AppendFrame(w.buf, payload)
	w.offset += int64(FrameBytes + len(payload))
	return w.err
}

// Offset returns the number of bytes framed so far: the place of the next
// record.
func (w *Writer) Offset() int64 { return w.offset }

// Flush writes what is buffered.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		if _, err := w.w.Write(w.buf); err != nil {
			w.err = fmt.Errorf("write records: %w", err)
		}
	}
	w.buf = w.buf[:0]
	if cap(w.buf) > 16*writerBufferBytes { // an outsize record grew it
		w.buf = make([]byte, 0, writerBufferBytes)
	}
	return w.err
}
