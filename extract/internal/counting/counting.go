// Package counting counts the bytes that a decoder reads. It lets callers distinguish
// errors of reading a file from corrupt data in the file.
package counting

import "io"

// A Reader counts the bytes read from R in N. Err is the last error of R, except
// [io.EOF].
type Reader struct {
	R   io.Reader
	N   int64
	Err error
}

// Read implements [io.Reader].
func (c *Reader) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	c.N += int64(n)
	if err != nil && err != io.EOF {
		c.Err = err
	}
	return n, err
}
