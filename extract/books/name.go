package books

import (
	"path"
	"strings"
	"unicode"
)

// maxNameBytes is the maximum length, in bytes, of a cleaned name.
const maxNameBytes = 1024

// cleanName converts a path to the form used in IDs: with slashes, and without control
// characters, invalid UTF-8 and the elements "", "." and "..". ok is false if the
// result is empty or too long.
func cleanName(name string) (clean string, ok bool) {
	if len(name) > 1<<16 {
		return "", false
	}
	name = strings.ToValidUTF8(name, "")
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return -1
		}
		return r
	}, name)
	var elements []string
	for element := range strings.SplitSeq(name, "/") {
		if element != "" && element != "." && element != ".." {
			elements = append(elements, element)
		}
	}
	name = strings.Join(elements, "/")
	return name, name != "" && len(name) <= maxNameBytes
}

// format is the file format that a name indicates.
type format int

const (
	other format = iota
	txt
	epub
	rows
	zipped
	tarred
)

// kindOf returns the format given by the extension of a book's name: .txt, .epub or
// .parquet. For any other name it returns other.
func kindOf(name string) format {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	if strings.HasPrefix(base, ".") {
		return other
	}
	switch strings.ToLower(path.Ext(base)) {
	case ".txt":
		return txt
	case ".epub":
		return epub
	case ".parquet":
		return rows
	}
	return other
}

// promises returns the archive format, zipped or tarred, that the name of a single file
// suggests; otherwise other.
func promises(name string) format {
	name = strings.ToLower(name)
	switch {
	case strings.HasSuffix(name, ".zip"), strings.HasSuffix(name, ".epub"):
		return zipped
	case strings.HasSuffix(name, ".tgz"), strings.HasSuffix(unpackedName(name), ".tar"):
		return tarred
	}
	return other
}

// unpackedName returns name without the extension .gz or .zst of a compressed file.
func unpackedName(name string) string {
	for _, ext := range []string{".gz", ".zst"} {
		if rest, ok := strings.CutSuffix(name, ext); ok {
			return rest
		}
	}
	return name
}

// stem returns a base name without its extensions. It is used as the title of a book
// without a title.
func stem(base string) string {
	base = unpackedName(base)
	if rest := strings.TrimSuffix(base, path.Ext(base)); rest != "" {
		return rest
	}
	return base
}
