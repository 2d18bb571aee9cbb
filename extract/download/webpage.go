package download

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
)

// A contentError reports a response with status 200 that is not the requested file:
// usually the login page of a network or site.
type contentError struct{ reason string }

func (e *contentError) Error() string { return e.reason }

func newPageError(name string) error {
	return &contentError{fmt.Sprintf("the server sends a web page in place of %s: open its URL in a browser, the network or site may require a login", name)}
}

// pageNames are the file extensions of web pages.
var pageNames = []string{".html", ".htm", ".xhtml"}

// wantsPage reports whether the file with this name should be a web page, by its
// extension.
func wantsPage(name string) bool {
	return slices.Contains(pageNames, strings.ToLower(path.Ext(name)))
}

// isPage reports whether contentType, from a Content-Type header, is that of a web
// page.
func isPage(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(contentType), ";")
		kind = strings.TrimSpace(kind)
	}
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// headBytes is the number of bytes at the start of a body that are checked
// before any byte is stored.
const headBytes = 1 << 10

// peek returns the first bytes of a body as head, and a reader, whole, that returns the
// same bytes and errors as body would without the call.
func peek(body io.Reader) (whole io.Reader, head []byte) {
	head = make([]byte, headBytes)
	n := 0
	for n < len(head) {
		m, err := body.Read(head[n:])
		n += m
		if err != nil {
			body = failedReader{err}
			break
		}
	}
	return io.MultiReader(bytes.NewReader(head[:n]), body), head[:n]
}

// A failedReader is a reader that always returns err.
type failedReader struct{ err error }

func (r failedReader) Read([]byte) (int, error) { return 0, r.err }

// pageStarts are strings, in lower case, that begin web pages. No book and no dump
// begins with one of them; dumps begin with <mediawiki>.
var pageStarts = []string{"<!doctype html", "<html", "<head", "<title>", "<meta ", "<body", "<script"}

// looksLikePage reports whether head, the first bytes of a file, begins a web page. A
// byte order mark, white space, comments and an XML declaration may come first.
func looksLikePage(head []byte) bool {
	b := bytes.ToLower(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	for {
		b = bytes.TrimLeft(b, " \t\r\n\f")
		var end string
		switch {
		case bytes.HasPrefix(b, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(b, []byte("<?xml")):
			end = "?>"
		default:
			return slices.ContainsFunc(pageStarts, func(s string) bool { return bytes.HasPrefix(b, []byte(s)) })
		}
		_, rest, ok := bytes.Cut(b, []byte(end))
		if !ok {
			return false
		}
		b = rest
	}
}

// magics lists file formats: the file extensions, and the bytes that begin such files.
var magics = []struct {
	endings []string
	begins  []string
}{
	{[]string{".zip", ".epub"}, []string{"PK\x03\x04", "PK\x05\x06"}},
	{[]string{".gz", ".tgz"}, []string{"\x1f\x8b"}},
	{[]string{".bz2"}, []string{"BZh"}},
	{[]string{".parquet"}, []string{"PAR1"}},
}

// checkContent returns an error if the response is a web page instead of the
// file or, for a file without a checksum, if its first bytes do not match the
// file's extension. Otherwise it returns a reader of the whole body.
func (t *transfer) checkContent(r *response) (io.Reader, error) {
	name := strings.ToLower(t.file.Name)
	unverified := t.file.Checksum == ""
	if unverified && !wantsPage(name) && isPage(r.Header.Get("Content-Type")) {
		return nil, newPageError(t.file.Name)
	}
	if r.StatusCode == http.StatusPartialContent {
		return r.Body, nil
	}
	body, head := peek(r.Body)
	if !wantsPage(name) && looksLikePage(head) {
		return nil, newPageError(t.file.Name)
	}
	ending := path.Ext(name)
	begins := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	for _, m := range magics {
		if unverified && len(head) > 0 && slices.Contains(m.endings, ending) && !slices.ContainsFunc(m.begins, begins) {
			return nil, &contentError{fmt.Sprintf("the response is not a %s file: open the URL in a browser to see what it is", ending)}
		}
	}
	return body, nil
}
