package extract

import "pretext/counts"

// Counts of a folder of documents, for sources of any kind.
var (
	Documents = counts.Declare("documents", counts.About{Label: "documents", In: counts.Summary,
		Meaning: "written by extract, left by filter; read by the other stages, by vocab and examples without those of the other split"})
	Blocks    = counts.Declare("blocks", counts.About{Meaning: "blocks of the documents files"})
	TextBytes = counts.Declare("text_bytes", counts.About{Label: "bytes of text", Unit: counts.Bytes, In: counts.Summary, Meaning: "text of the documents"})
	Rejects   = counts.DeclareFamily[Reject]("reject", counts.About{Meaning: "what did not become a document, by REASON: " +
		"in extract redirect, namespace, model, disambiguation, empty, too-large, too-short, holes, malformed, unterminated, deleted, binary, encoding; " +
		"in filter the name of a rule, repeated-lines, duplicate, near-duplicate, contained"})
	InvalidUTF8 = counts.Declare("invalid_utf8_bytes", counts.About{Unit: counts.Bytes, Meaning: "bytes dropped because they are not UTF-8"})
)

// Counts of sources that are not wikis.
var (
	Files = counts.Declare("files", counts.About{Label: "files read", In: counts.Summary,
		Meaning: "books read; of files that are cut by lines, rows or chapters, the documents cut from them"})
	Lines = counts.Declare("lines", counts.About{Label: "lines", In: counts.Summary,
		Meaning: "lines of BERT text, JSON lines, and lines or rows that were cut into documents"})
	Wikitext = counts.Declare("wikitext_documents", counts.About{Sparse: true, Meaning: "documents of books that have the markup of a wiki; absent if 0"})
	HTML     = counts.Declare("html_documents", counts.About{Sparse: true, Meaning: "documents of books that have tags; absent if 0"})
)
