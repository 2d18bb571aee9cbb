package recognize

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// magics are the first bytes of files of each kind.
var magics = []struct {
	magic string
	kind  Kind
}{
	{"\xfd7zXZ\x00", Xz}, {"7z\xbc\xaf\x27\x1c", SevenZip}, {"\x28\xb5\x2f\xfd", Zstd}, {"\x1f\x8b", Gzip}, {"BZh", Bzip2},
	{"PK\x05\x06", Zip}, {"Rar!\x1a\x07", RAR}, {"%PDF-", PDF}, {"PAR1", Parquet}, {"ARROW1\x00\x00", Arrow},
	{"SQLite format 3\x00", SQLite}, {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Office}, {"{\\rtf", Office}, {"\x93NUMPY", NumPy},
	{"\x80\x02\x8a\x0a", Weights}, {"\x80\x02}", Weights}, {"\x89HDF\r\n\x1a\n", Weights},
	{"\n\x0e\n\x05<unk>", SentencePiece}, {"\n\x0e\n\x05<pad>", SentencePiece},
}

// Magic returns the kind of a file that is determined by its first bytes (magic number); ""
// if these are unknown.
func Magic(head []byte) Kind {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return zipped(head)
	case isSafetensors(head):
		return Weights
	}
	return ""
}

// zipped returns the kind of a zip archive according to the name of its first member.
func zipped(head []byte) Kind {
	const fixed = 30 // bytes of the header before the name
	if len(head) < fixed {
		return Zip
	}
	size := int(binary.LittleEndian.Uint16(head[26:]))
	name := string(head[fixed:min(len(head), fixed+size)])
	rest := head[fixed+len(name):]
	switch {
	case name == "mimetype" && bytes.HasPrefix(rest, []byte("application/epub+zip")):
		return EPUB
	case name == "mimetype" && bytes.HasPrefix(rest, []byte("application/vnd.")), name == "[Content_Types].xml":
		return Office
	case strings.HasSuffix(name, "/data.pkl"):
		return Weights
	case strings.HasSuffix(name, ".npy"):
		return NumPy
	}
	return Zip
}

// isSafetensors reports whether head is the beginning of a safetensors file: the
// length of a JSON object, then the object.
func isSafetensors(head []byte) bool {
	return len(head) > 10 && head[8] == '{' && head[9] == '"' && binary.LittleEndian.Uint64(head) < 100<<20
}

// IsTar reports whether head begins a tar archive.
func IsTar(head []byte) bool {
	const magic, at = "ustar", 257
	return len(head) >= at+len(magic) && string(head[at:at+len(magic)]) == magic
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// isRecords reports whether head begins with the length of a record and a matching
// checksum.
func isRecords(head []byte) bool {
	if len(head) < 12 {
		return false
	}
	sum := crc32.Checksum(head[:8], castagnoli)
	return binary.LittleEndian.Uint32(head[8:]) == sum>>15|sum<<17+0xa282ead8
}

// unpacked returns the beginning of a file after decompression. packing is the compression.
func unpacked(packing Kind, src io.Reader) []byte {
	var r io.Reader
	switch packing {
	case Bzip2:
		r = bzip2.NewReader(src)
	case Gzip:
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil
		}
		r = z
	case Zstd:
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(128<<20))
		if err != nil {
			return nil
		}
		defer z.Close()
		r = z
	}
	out := make([]byte, headBytes)
	n, _ := io.ReadFull(r, out) // corrupt and truncated files are recognized too
	return out[:n]
}
