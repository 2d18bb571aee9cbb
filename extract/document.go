// Package extract defines the document, the unit that every later stage works
// on, and the documents file that stages exchange.
package extract

// A Document is one article or book as plain text.
//
// Text is valid UTF-8. Paragraphs, headings and list items stand on lines of
// their own; the text has no leading or trailing white space.
type Document struct {
	ID     string // stable: "enwiki:12", "books:pride.txt", "text:<sha256>"
	Title  string // may be empty
	Text   string
	Source string // what it was made from, by base name: "enwiki-latest.xml.bz2"
	Lang   string // BCP 47 code of the language, "" when not known
}

// A Reject is the reason why a page or book did not become a document. The
// values are part of the manifest format.
type Reject string

// The reasons for a reject.
const (
	RejectRedirect       Reject = "redirect"       // a redirect page
	RejectNamespace      Reject = "namespace"      // not in the article namespace
	RejectModel          Reject = "model"          // content model is not wikitext
	RejectDisambiguation Reject = "disambiguation" // a disambiguation page
	RejectEmpty          Reject = "empty"          // no text, before or after extraction
	RejectTooLarge       Reject = "too-large"      // page over 16 MiB of wikitext, or document over 64 MiB of text
	RejectTooShort       Reject = "too-short"      // below the minimum length asked for
	RejectMalformed      Reject = "malformed"      // not readable as a page: no title or id, broken markup of the dump
	RejectUnterminated   Reject = "unterminated"   // a page without its end
	RejectDeleted        Reject = "deleted"        // text suppressed in the dump
	RejectBinary         Reject = "binary"         // a file that is not text
	RejectEncoding       Reject = "encoding"       // text in an encoding that cannot be told
)

// Limits: what is larger is a reject, found without holding it.
const (
	MaxPageBytes     = 16 << 20 // wikitext of a page
	MaxDocumentBytes = 64 << 20 // text of a document
)
