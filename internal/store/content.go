package store

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// sameContent reports whether two local files have the same content.
func sameContent(a, b string) (same bool, err error) {
	f, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer g.Close()
	i, errA := f.Stat()
	j, errB := g.Stat()
	if err := errors.Join(errA, errB); err != nil {
		return false, err
	}
	return j.Mode().IsRegular() && i.Size() == j.Size() && sameBytes(f, g), nil
}

// sameBytes reports whether two readers yield the same bytes, without an error.
func sameBytes(a, b io.Reader) bool {
	const chunk = 256 << 10
	p, q := make([]byte, chunk), make([]byte, chunk)
	for {
		n, errA := io.ReadFull(a, p)
		m, errB := io.ReadFull(b, q)
		if !bytes.Equal(p[:n], q[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return ended(errA) && ended(errB)
		}
	}
}

func ended(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
