package recognize

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// patterns compiles the regular expressions when they are first used, because most
// processes do not need them.
var patterns = sync.OnceValue(func() (p struct{ index, checksum, sqlStart, sqlWord, page, root *regexp.Regexp }) {
	p.index = regexp.MustCompile(`^\d+:\d+:[^\n]`)
	p.checksum = regexp.MustCompile(`^[0-9a-f]{32,64} [ *]\S`)
	p.sqlStart = regexp.MustCompile(`^\s*(-- |/\*!|CREATE |DROP |INSERT |SET )`)
	p.sqlWord = regexp.MustCompile(`(CREATE TABLE|INSERT INTO|MySQL dump|MariaDB dump)`)
	p.page = regexp.MustCompile(`(?i)^\s*(<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(!doctype html|html|head|script|body)\b`)
	p.root = regexp.MustCompile(`^\s*(?:<\?xml[^>]*>\s*|<!--(?s:.*?)-->\s*)*<([A-Za-z_][\w:.-]{0,63})(?:\s[^<]*)?/?>`)
	return p
})

// markup returns the kind of an uncompressed file that begins with text: HTML, JSON, XML
// such as a dump, or one of the other files that are published with dumps.
func markup(text []byte) Kind {
	p, text := patterns(), text[:min(len(text), headBytes)]
	plain := bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(plain, " \t\r\n")
	switch {
	case p.page.Match(plain):
		return HTML
	case bytes.Contains(plain, []byte("<feed>")) && bytes.Contains(plain, []byte("<doc>")):
		return Abstracts
	case p.sqlStart.Match(plain) && p.sqlWord.Match(plain):
		return SQL
	case p.index.Match(plain):
		return DumpIndex
	case p.checksum.Match(plain):
		return Checksums
	case isJSON(trimmed):
		return jsonKind(trimmed)
	case bytes.HasPrefix(plain, []byte("page_namespace\t")), bytes.HasPrefix(plain, []byte("page_title\n")):
		return Titles
	case bytes.HasPrefix(trimmed, []byte("<rss")), bytes.HasPrefix(trimmed, []byte("<?xml")) && bytes.Contains(plain, []byte("<rss")):
		return RSS
	case RootElement(plain) != "":
		return XML
	}
	return ""
}

// isJSON reports whether text is the beginning of a JSON object or array. It looks at more
// than the first bracket, because wikitext can begin with {{ or [[, and a vocabulary with
// [PAD].
func isJSON(text []byte) bool {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	object := text[0] == '{'
	inner := bytes.TrimLeft(text, "[ \t\r\n")
	if object {
		inner = bytes.TrimLeft(text[1:], " \t\r\n")
	}
	if len(inner) == 0 {
		return true
	}
	if object {
		return inner[0] == '"' || inner[0] == '}'
	}
	return strings.IndexByte(`{"]-0123456789`, inner[0]) >= 0
}

// jsonKind returns the kind of a JSON file.
func jsonKind(text []byte) Kind {
	has := func(key string) bool { return bytes.Contains(text[:min(len(text), 4<<10)], []byte(`"`+key+`"`)) }
	switch {
	case has("added_tokens"), has("normalizer"):
		return TokenizerJSON
	case has("hidden_size") && has("num_hidden_layers"):
		return ModelConfig
	}
	return JSON
}

// RootElement returns the name of the first element of XML text; "" if the text is
// not XML.
func RootElement(text []byte) string {
	if root := patterns().root.FindSubmatch(text); root != nil {
		return string(root[1])
	}
	return ""
}

// isDump reports whether text is the beginning of a MediaWiki dump.
func isDump(text []byte) bool {
	name := RootElement(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	return name == "mediawiki" || name == "page" && bytes.Contains(text, []byte("<revision>"))
}

// isVocab reports whether text is the beginning of a BERT vocabulary.
func isVocab(text []byte) bool {
	first, _, _ := strings.Cut(string(text[:min(len(text), 16)]), "\n")
	return strings.TrimSuffix(first, "\r") == "[PAD]"
}

// isText reports whether text, the beginning of a file, is plain text: it is not empty,
// does not begin with "<", is valid UTF-8 (except that the last character may be
// incomplete) and has no control characters other than white space. Zero bytes, which
// an unfinished download may have, are control characters.
func isText(text []byte) bool {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 || text[0] == '<' {
		return false
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			return !utf8.FullRune(text)
		}
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return false
		}
		text = text[size:]
	}
	return true
}
