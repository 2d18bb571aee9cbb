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
// "" is none. MD5 and SHA-1 are what older dumps publish: they tell damage, not
// forgery, which is what https is for.
type Checksum string

// algorithms are the hashes that sources publish, best first.
var algorithms = []struct {
	name string
	make func() hash.Hash
}{{"sha256", sha256.New}, {"sha1", sha1.New}, {"md5", md5.New}}

// NewChecksum checks digits that somebody wrote.
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
	return "", fmt.Errorf("checksums of kind %q are not known", algorithm)
}

// Algorithm is the part before the colon.
func (c Checksum) Algorithm() string {
	name, _, _ := strings.Cut(string(c), ":")
	return name
}

// sums hashes a file once for its checksum and once for our own manifest.
type sums struct {
	want Checksum
	own  hash.Hash // SHA-256
	also hash.Hash // of the checksum, nil where that is SHA-256 or none
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

// Write never fails.
func (s *sums) Write(p []byte) (int, error) {
	s.own.Write(p)
	if s.also != nil {
		s.also.Write(p)
	}
	return len(p), nil
}

// sha256 is what the manifest says of the bytes so far.
func (s *sums) sha256() string { return hex.EncodeToString(s.own.Sum(nil)) }

// match compares the bytes so far with the checksum; without one all match.
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
