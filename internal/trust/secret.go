package trust

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pretext/internal/failure"
)

// MinSecret is the minimum length of a secret in bytes.
const MinSecret = 16

// maxSecret is the maximum size of a secret's file.
const maxSecret = 4 << 10

// MAC returns the HMAC-SHA256 of a purpose and parts, with secret as the key. Because of the
// purpose, a MAC of one protocol is not valid in another. Each part is preceded by its
// length, so that different lists of parts never have the same bytes.
func MAC(secret []byte, purpose string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	for _, part := range append([][]byte{[]byte(purpose)}, parts...) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)
}

// ReadSecret returns the secret in a file, without white space around it. It returns a usage
// error if other users may read or replace the file, or if the file contains no secret.
func ReadSecret(path string) ([]byte, error) {
	info, err := os.Stat(path) // first: to open a FIFO would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, failure.Usagef("%s: not a regular file: give the path of a file with a secret", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := private(path, info); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return nil, err
	}
	secret := strings.TrimSpace(string(b))
	if len(secret) < MinSecret || len(b) > maxSecret {
		return nil, failure.Usagef("%s: a secret has from %d to %d bytes: put a random text into it, such as 32 bytes of /dev/urandom in base64", path, MinSecret, maxSecret)
	}
	return []byte(secret), nil
}

// private returns a usage error if other users may read or write a file.
func private(path string, info fs.FileInfo) error {
	me := os.Getuid()
	if me < 0 { // Windows has no such modes
		return nil
	}
	if info.Mode().Perm()&0o077 != 0 {
		return failure.Usagef("%s: other users may read it (mode %04o): chmod 600 %s, and make a new secret if others use this machine", path, info.Mode().Perm(), path)
	}
	if owner, ok := ownerOf(info); ok && owner != me && owner != 0 {
		return failure.Usagef("%s: belongs to another user (%d): a secret must be this user's own file, or root's", path, owner)
	}
	return nil
}

// MakeSecret returns the secret in a file. If the file does not exist, it creates the file
// with a random secret and mode 0600. If several processes do this at the same time, one
// creates the file, and all return its secret.
func MakeSecret(path string) ([]byte, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return ReadSecret(path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".pretext-secret-*") // of mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, rand.Text()+rand.Text())
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	// Link does not replace an existing file, unlike Rename.
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return ReadSecret(path)
}
