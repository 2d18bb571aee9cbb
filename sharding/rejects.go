package sharding

import "pretext/extract"

// RejectsSuffix is the suffix of the list of rejects beside a documents file.
// Patterns for documents files do not match it.
const RejectsSuffix = ".rejects"

// A RejectLine is a line of the list of rejects, for a page, book, line or
// document that was dropped.
type RejectLine struct {
	ID         string         `json:"id,omitempty"`
	Title      string         `json:"title,omitempty"`
	Reason     extract.Reject `json:"reason"`
	Value      *float64       `json:"value,omitempty"`      // measured value that caused the rejection
	Of         string         `json:"of,omitempty"`         // ID of the document that was kept instead
	Similarity float32        `json:"similarity,omitempty"` // with the most similar document of the cluster
	Share      float32        `json:"share,omitempty"`      // fraction of the cluster's first document that is contained in the kept document
	Place      *extract.Place `json:"place,omitempty"`      // position in the source, if there is no ID
}
