// Package extract defines the document, the unit that every later stage works
// on, and the documents file that stages exchange.
package extract

// A Document is one article or book as plain text.
//
// Text is valid UTF-8 without surrounding white space. Each paragraph, heading
// and list item is a line.
type Document struct {
	ID     string // stable: "enwiki:12", "books:pride.txt", "text:<sha256>"
	Title  string // may be empty
	Text   string
	Source string // base name of the source file: "enwiki-latest.xml.bz2"
	Lang   string // BCP 47 code of the language, "" if unknown

	// Provenance of a wiki page; zero values if unknown.
	URL       string // address of the page
	Revision  int64  // revision ID of the page
	Timestamp string // time at which the revision was saved: "2017-07-01T12:00:00Z"
	License   string // SPDX identifier: "CC-BY-SA-4.0"

	// SimilarTo is the ID of the first document of a cluster of similar documents; "" for
	// that document itself, and if no cluster is known. The first document may have been
	// rejected.
	SimilarTo string
}

// SplitID returns the ID that decides whether the document is held out. It is the same for
// all documents of a cluster, so that none is held out while the model trains on another.
func (d *Document) SplitID() string {
	if d.SimilarTo != "" {
		return d.SimilarTo
	}
	return d.ID
}

// A Rejected is a page, book or line that did not become a document.
type Rejected struct {
	ID     string   // ID that its document would have; "" if unknown
	Title  string   // may be empty
	Reason Reject   // why it was rejected
	Value  *float64 // measured value: characters (too-short), bytes (too-large), the namespace, or holes per sentence; nil: none
	Place  *Place   // only if ID is ""
}

// A Place locates a rejected page or line that has no ID.
type Place struct {
	Source string `json:"source"`           // base name of the file
	Line   int64  `json:"line,omitempty"`   // line number in a text file, from 1
	Offset int64  `json:"offset,omitempty"` // offset in bytes of a page, or of the compressed block that contains it
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
	RejectTooShort       Reject = "too-short"      // shorter than the option for the minimum length
	RejectHoles          Reject = "holes"          // more holes from dropped templates than the option allows
	RejectMalformed      Reject = "malformed"      // no title or ID, or broken XML
	RejectUnterminated   Reject = "unterminated"   // a page without </page>
	RejectDeleted        Reject = "deleted"        // text suppressed in the dump
	RejectBinary         Reject = "binary"         // a file that is not text
	RejectEncoding       Reject = "encoding"       // text in an unknown encoding
)

// Limits in bytes. A larger page or document is rejected and never held in memory.
const (
	MaxPageBytes     = 16 << 20 // wikitext of a page
	MaxDocumentBytes = 64 << 20 // text of a document
)
