package sharding

import (
	"context"
	"errors"
	"io"
	"testing"
)

// An oddFile is a file of a store that returns an error with the last bytes that it can
// read, as io.ReaderAt allows.
type oddFile struct {
	memoryFile
	readable int64
	err      error
}

func (f oddFile) ReadAt(p []byte, offset int64) (int, error) {
	n := min(int64(len(p)), max(0, f.readable-offset))
	m, err := f.memoryFile.ReadAt(p[:n], offset)
	if err == nil && offset+int64(m) == f.readable {
		err = f.err
	}
	return m, err
}

type oddFolder struct {
	memoryFolder
	readable int64
	err      error
}

func (d oddFolder) Open(ctx context.Context, name string) (File, error) {
	f, err := d.memoryFolder.Open(ctx, name)
	return oddFile{f.(memoryFile), d.readable, d.err}, err
}

func TestAFileIsHashedToItsEndOrNotAtAll(t *testing.T) {
	const size = 5 << 19 // two and a half reads
	content := make([]byte, size)
	broken := errors.New("broken")
	for _, test := range []struct {
		readable  int64
		err, want error
	}{
		{size, nil, nil}, {size, io.EOF, nil}, {size, broken, broken},
		{size - 1, broken, broken}, {size - 1, io.EOF, io.EOF}, {0, io.EOF, io.EOF}, // truncated while it is read
	} {
		n, sum, err := HashFile(t.Context(), oddFolder{memoryFolder{"a": content}, test.readable, test.err}, "a")
		if !errors.Is(err, test.want) || err == nil && (n != size || sum != Hash(content)) {
			t.Errorf("%d bytes can be read, then %v: got %d bytes, %v, want %v", test.readable, test.err, n, err, test.want)
		}
	}
}
