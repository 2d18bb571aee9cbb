package download

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// A Checksum is "sha256:", "sha1:" or "md5:" followed by lower-case hexadecimal
// digits; "" means no checksum. Older dumps have only MD5 and SHA-1, which
// detect corruption but not forgery; https protects from forgery.
type Checksum string

// algorithms are the hash functions of published checksums, from strongest to weakest.
var algorithms = []struct {
	name string
	make func() hash.Hash
}{{"sha256", sha256.New}, {"sha1", sha1.New}, {"md5", md5.New}}

// newChecksum returns the checksum with the given algorithm and hexadecimal
// digits, or an error if they are invalid.
func newChecksum(algorithm, digits string) (Checksum, error) {
	digits = strings.ToLower(digits)
	for _, a := range algorithms {
		if a.name != algorithm {
			continue
		}
		if b, err := hex.DecodeString(digits); err != nil || len(b) != a.make().Size() {
			return "", fmt.Errorf("%q is no %s checksum", digits, algorithm)
		}
		return Checksum(algorithm + ":" + digits), nil
	}
	return "", fmt.Errorf("unknown checksum algorithm %q", algorithm)
}

// Algorithm returns the name of the hash function: "sha256", "sha1", "md5" or
// "".
func (c Checksum) Algorithm() string {
	name, _, _ := strings.Cut(string(c), ":")
	return name
}

// sums computes two hashes of a file: the hash for its published checksum, and the
// SHA-256 for the manifest.
type sums struct {
	want Checksum
	own  hash.Hash // SHA-256, for the manifest
	also hash.Hash // the hash for the checksum; nil if that is SHA-256 or there is no checksum
}

func newSums(want Checksum) *sums {
	s := &sums{want: want, own: sha256.New()}
	for _, a := range algorithms[1:] {
		if want.Algorithm() == a.name {
			s.also = a.make()
		}
	}
	return s
}

// Write implements [io.Writer]. It never fails.
func (s *sums) Write(p []byte) (int, error) {
	s.own.Write(p)
	if s.also != nil {
		s.also.Write(p)
	}
	return len(p), nil
}

// sha256 returns the SHA-256 of the bytes written so far, in hexadecimal.
func (s *sums) sha256() string { return hex.EncodeToString(s.own.Sum(nil)) }

// match compares the checksum of the bytes written so far, got, with the expected
// checksum. ok is true if they are equal or no checksum is expected.
func (s *sums) match() (got Checksum, ok bool) {
	if s.want == "" {
		return "", true
	}
	h := s.own
	if s.also != nil {
		h = s.also
	}
	got = Checksum(s.want.Algorithm() + ":" + hex.EncodeToString(h.Sum(nil)))
	return got, got == s.want
}
