// Command demogen makes the files that package democorpus embeds out of their
// sources. It runs in the folder of that package, by go generate, and needs
// the command bzip2.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha1" //nolint:gosec // the hash that MediaWiki writes
	"fmt"
	"html"
	"io"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

const (
	xmlName        = "demowiki-20260901-pages-articles-multistream.xml"
	epubFolder     = "epub"
	epubName       = "books/a-year-on-gull-island.epub"
	pagesPerStream = 20
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demogen:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := makeDump(); err != nil {
		return fmt.Errorf("make dump: %w", err)
	}
	if err := makeEPUB(); err != nil {
		return fmt.Errorf("make epub: %w", err)
	}
	return nil
}

func makeDump() error {
	raw, err := os.ReadFile(xmlName)
	if err != nil {
		return err
	}
	xml := refreshHashes(string(raw))
	if err := os.WriteFile(xmlName, []byte(xml), 0o644); err != nil {
		return err
	}
	var packed bytes.Buffer
	for _, part := range streams(xml) {
		compress := exec.Command("bzip2", "--best", "--stdout")
		compress.Stdin = strings.NewReader(part)
		compress.Stdout = &packed
		compress.Stderr = os.Stderr
		if err := compress.Run(); err != nil {
			return fmt.Errorf("bzip2: %w", err)
		}
	}
	return os.WriteFile(xmlName+".bz2", packed.Bytes(), 0o644)
}

// streams divides a dump into the parts that a multistream file compresses
// separately: the head, groups of pages, and the end.
func streams(xml string) []string {
	const begin, end = "  <page>\n", "  </page>\n"
	at := strings.Index(xml, begin)
	parts := []string{xml[:at]}
	pages := strings.SplitAfter(xml[at:], end)
	tail := pages[len(pages)-1]
	pages = pages[:len(pages)-1]
	for len(pages) > 0 {
		n := min(pagesPerStream, len(pages))
		parts = append(parts, strings.Join(pages[:n], ""))
		pages = pages[n:]
	}
	return append(parts, tail)
}

var textElement = regexp.MustCompile(`(?s)<text bytes="\d+" sha1="\w*" xml:space="preserve"(?: />|>(.*?)</text>)\s*<sha1>\w*</sha1>`)

// refreshHashes updates the length and the SHA-1 of each page's text.
func refreshHashes(xml string) string {
	return textElement.ReplaceAllStringFunc(xml, func(element string) string {
		escaped := textElement.FindStringSubmatch(element)[1]
		text := html.UnescapeString(escaped)
		hash := base36(text)
		open := fmt.Sprintf(`<text bytes="%d" sha1="%s" xml:space="preserve"`, len(text), hash)
		content := ">" + escaped + "</text>"
		if text == "" {
			content = " />"
		}
		return open + content + "\n      <sha1>" + hash + "</sha1>"
	})
}

// base36 returns the SHA-1 of a text as MediaWiki writes it: 31 digits in base
// 36.
func base36(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see import
	digits := new(big.Int).SetBytes(sum[:]).Text(36)
	return strings.Repeat("0", 31-len(digits)) + digits
}

// makeEPUB writes the folder epub as a ZIP file: first the file mimetype, not
// compressed, as the format requires, then all other files sorted by name,
// without modification times.
func makeEPUB() error {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	if err := addFile(w, &zip.FileHeader{Name: "mimetype", Method: zip.Store}); err != nil {
		return err
	}
	err := fs.WalkDir(os.DirFS(epubFolder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == "mimetype" {
			return err
		}
		return addFile(w, &zip.FileHeader{Name: name, Method: zip.Deflate})
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(epubName, packed.Bytes(), 0o644)
}

// addFile adds the file named in header to the ZIP file.
func addFile(w *zip.Writer, header *zip.FileHeader) error {
	in, err := os.DirFS(epubFolder).Open(header.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := w.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}
