package books

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"pretext/extract"
	"pretext/extract/text"
)

// Names of the members that every EPUB, or every encrypted EPUB, has (EPUB 3.3,
// Open Container Format, §4.2).
const (
	containerName  = "META-INF/container.xml"
	encryptionName = "META-INF/encryption.xml"
)

// Limits of an EPUB. All but the number of members are sizes in bytes.
const (
	maxEPUBMembers  = 1 << 16
	maxPackageBytes = 8 << 20
	maxTitleBytes   = 4 << 10
	maxLangBytes    = 35 // RFC 5646, §4.4.1
)

// isEPUB reports whether the archive is an EPUB: it has a member
// META-INF/container.xml.
func (z *zipArchive) isEPUB() (bool, error) {
	for entry, err := range z.entries() {
		if err != nil {
			return false, err
		}
		if entry.name == containerName {
			return true, nil
		}
	}
	return false, nil
}

// An epubFile is an open EPUB.
type epubFile struct {
	z       *zipArchive
	members map[string]*zipEntry
	bytes   int64 // decompressed bytes read so far
}

func openEPUB(z *zipArchive) (*epubFile, error) {
	e := &epubFile{z: z, members: map[string]*zipEntry{}}
	for entry, err := range z.entries() {
		if err != nil {
			return nil, err
		}
		if len(e.members) == maxEPUBMembers {
			return nil, &memberError{"EPUB of too many members"}
		}
		if _, ok := e.members[entry.name]; !ok {
			e.members[entry.name] = entry
		}
	}
	return e, nil
}

// small returns the content of a required member. The member may have at most
// maxPackageBytes.
func (e *epubFile) small(name string) ([]byte, error) {
	entry := e.members[name]
	if entry == nil {
		return nil, &memberError{"EPUB without " + name}
	}
	src, err := e.z.open(entry)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(src, maxPackageBytes+1))
	if err == nil && len(b) > maxPackageBytes {
		err = &memberError{name + " is too large"}
	}
	return b, err
}

// A packageDoc holds the parts of an EPUB's package document that are used: metadata,
// the list of members (items) and the reading order (spine).
type packageDoc struct {
	title, lang string
	items       map[string]packageItem
	spine       []spineItem
}

type packageItem struct{ href, mediaType, properties string }

type spineItem struct {
	id     string
	linear bool
}

// eachElement calls visit for each start element in b, with the text between it
// and the next tag. It stops at the first XML error, but tolerates unknown entities
// and unclosed elements. It accepts any encoding and never reads external
// resources.
func eachElement(b []byte, visit func(xml.StartElement, string)) {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = charset.NewReaderLabel
	var open *xml.StartElement
	var chars []byte
	flush := func() {
		if open != nil {
			visit(*open, string(chars))
		}
		open, chars = nil, nil
	}
	for {
		token, err := d.Token()
		if err != nil {
			flush()
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			flush()
			open = &t
		case xml.CharData:
			if open != nil && len(chars) < maxTitleBytes {
				chars = append(chars, t...)
			}
		case xml.EndElement:
			flush()
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// packagePath returns the member name of the package document.
func (e *epubFile) packagePath() (string, error) {
	b, err := e.small(containerName)
	if err != nil {
		return "", err
	}
	found := ""
	eachElement(b, func(element xml.StartElement, _ string) {
		if element.Name.Local == "rootfile" && found == "" {
			found = attribute(element, "full-path")
		}
	})
	found = strings.TrimPrefix(path.Clean("/"+found), "/")
	if found == "" {
		return "", &memberError{"EPUB container that names no package"}
	}
	return found, nil
}

// encrypted returns the names of the encrypted members. Often these are only fonts,
// which are not read.
func (e *epubFile) encrypted() map[string]bool {
	names := map[string]bool{}
	b, err := e.small(encryptionName)
	if err != nil {
		return names
	}
	eachElement(b, func(element xml.StartElement, _ string) {
		if element.Name.Local == "CipherReference" {
			names[resolve("", attribute(element, "URI"))] = true
		}
	})
	return names
}

func parsePackage(b []byte) packageDoc {
	p := packageDoc{items: map[string]packageItem{}}
	eachElement(b, func(element xml.StartElement, chars string) {
		switch element.Name.Local {
		case "title":
			if p.title == "" {
				p.title = label(chars, maxTitleBytes)
			}
		case "language":
			if p.lang == "" && !strings.EqualFold(chars, "und") {
				p.lang = label(chars, maxLangBytes)
			}
		case "item":
			id := attribute(element, "id")
			if _, ok := p.items[id]; !ok {
				p.items[id] = packageItem{attribute(element, "href"), attribute(element, "media-type"), attribute(element, "properties")}
			}
		case "itemref":
			p.spine = append(p.spine, spineItem{attribute(element, "idref"), attribute(element, "linear") != "no"})
		}
	})
	return p
}

// label returns s with each run of white space replaced by a space, truncated to limit
// bytes.
func label(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.TrimSpace(s[:limit])
}

// resolve returns the member name that href refers to. href is relative to the folder
// dir. The result is always inside the archive.
func resolve(dir, href string) string {
	href, _, _ = strings.Cut(href, "#")
	if plain, err := url.PathUnescape(href); err == nil {
		href = plain
	}
	return strings.TrimPrefix(path.Clean("/"+dir+"/"+href), "/")
}

// reading returns the names of the members to read, in order: the documents in the
// linear reading order, or the whole spine if it has no linear document. dir is the
// folder of the package document.
func (p packageDoc) reading(dir string) []string {
	var linear, all []string
	seen := map[string]bool{}
	for _, s := range p.spine {
		item, ok := p.items[s.id]
		if !ok || seen[s.id] || slices.Contains(strings.Fields(item.properties), "nav") || !slices.Contains(htmlTypes, item.mediaType) {
			continue
		}
		seen[s.id] = true
		name := resolve(dir, item.href)
		all = append(all, name)
		if s.linear {
			linear = append(linear, name)
		}
	}
	if len(linear) == 0 {
		return all
	}
	return linear
}

// htmlTypes are the media types of the spine's documents. Some EPUBs omit the type.
var htmlTypes = []string{"application/xhtml+xml", "text/html", "text/x-oeb1-document", ""}

// epub reads an EPUB. If the EPUB is corrupt, the error is a [memberError] or a
// [CorruptError].
func (r *Reader) epub(name string, z *zipArchive) (book, error) {
	b := book{name: name}
	e, err := openEPUB(z)
	if err != nil {
		return b, err
	}
	packageName, err := e.packagePath()
	if err != nil {
		return b, err
	}
	raw, err := e.small(packageName)
	if err != nil {
		return b, err
	}
	p := parsePackage(raw)
	b.title, b.lang = p.title, p.lang
	prose := &prose{limit: r.limit + 1, fileLimit: r.fileLimit, keepBoilerplate: r.opts.KeepBoilerplate}
	if err := e.readAll(p.reading(path.Dir(packageName)), prose); err != nil {
		if err == errRejected {
			b.reject = extract.RejectTooLarge
			return b, nil
		}
		return b, err
	}
	return r.finishProse(b, prose), nil
}

// readAll appends the text of the named members to the prose to, in order. It skips
// names for which the archive has no member.
func (e *epubFile) readAll(names []string, to *prose) error {
	encrypted := e.encrypted()
	found := 0
	for _, name := range names {
		entry := e.members[name]
		if entry == nil {
			continue
		}
		if encrypted[name] {
			return &memberError{"encrypted"}
		}
		src, err := e.z.open(entry)
		if err != nil {
			return err
		}
		if err := to.read(&limited{r: src, left: to.fileLimit - e.bytes, count: &e.bytes}); err != nil {
			return err
		}
		to.ends = append(to.ends, len(to.out))
		found++
	}
	if found == 0 {
		return &memberError{"EPUB without readable content"}
	}
	return nil
}

// limited is a reader that returns errRejected after left bytes. It adds the
// bytes read to *count.
type limited struct {
	r     io.Reader
	left  int64
	count *int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.left -= int64(n)
	*l.count += int64(n)
	if l.left < 0 {
		return 0, errRejected
	}
	return n, err
}

// finishProse completes the book b with the paragraphs p of an EPUB, or rejects the
// book.
func (r *Reader) finishProse(b book, p *prose) book {
	switch {
	case bytes.IndexByte(p.out, 0) >= 0 || countControls(p.out)*100 > len(p.out):
		b.reject = extract.RejectBinary
		return b
	case p.invalid*10 > len(p.out)+p.invalid:
		b.reject = extract.RejectEncoding
		return b
	}
	if p.invalid > 0 {
		r.stats.InvalidBytes += int64(p.invalid)
		b.note = "bytes that are not UTF-8 were dropped"
	}
	if p.recoded {
		r.stats.Recoded++
	}
	lines, trimmed := p.out, p.trimmed
	if !r.opts.KeepBoilerplate {
		var more bool
		lines, more = trimGutenberg(lines)
		trimmed = trimmed || more
	}
	if trimmed {
		r.stats.Trimmed++
	}
	if r.opts.Chapters {
		b.parts = p.chapters(lines)
		return b
	}
	if b.text = joinLines(lines, true, 0); len(b.text) > r.limit {
		b.text, b.reject = nil, extract.RejectTooLarge
	}
	b.text = text.Strip(b.text)
	return b
}

// chapters returns the text of each document of the spine. lines is p.out, or the rest
// of p.out without Project Gutenberg's header and licence.
func (p *prose) chapters(lines []byte) (parts [][]byte) {
	from := cap(p.out) - cap(lines)
	at := 0
	for _, end := range p.ends {
		if end = min(max(end-from, at), len(lines)); end > at {
			parts = append(parts, text.Strip(joinLines(lines[at:end], true, 0)))
			at = end
		}
	}
	return parts
}
