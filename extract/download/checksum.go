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

// A Checksum is "sha256:", "sha1:" or "md5:" and lower-case hexadecimal digits;
// "" is none. Older dumps publish MD5 and SHA-1. They detect corruption but not
// forgery, from which https protects.
type Checksum string

// algorithms are the hashes that sources publish, best first.
var algorithms = []struct {
	name string
	make func() hash.Hash
}{{"sha256", sha256.New}, {"sha1", sha1.New}, {"md5", md5.New}}

// NewChecksum returns a checksum with the given hexadecimal digits, after checking
// them.
func NewChecksum(algorithm, digits string) (Checksum, error) {
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

// Algorithm returns the part before the colon.
func (c Checksum) Algorithm() string {
	name, _, _ := strings.Cut(string(c), ":")
	return name
}

// sums computes the hash for the checksum of a file and that for the manifest.
type sums struct {
	want Checksum
	own  hash.Hash // SHA-256, for the manifest
	also hash.Hash // of the checksum; nil if that is SHA-256 or none
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

// sha256 returns the SHA-256 of the bytes so far, in hexadecimal.
func (s *sums) sha256() string { return hex.EncodeToString(s.own.Sum(nil)) }

// match reports whether the bytes so far have the checksum; ok is true if there is
// none.
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
