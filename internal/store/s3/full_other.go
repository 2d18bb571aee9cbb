//go:build !unix

package s3

// full returns the error for a bucket without free space.
func full(text string) error { return &answerError{text, errAnswer} }
