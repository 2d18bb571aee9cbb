//go:build !unix

package s3

// full returns the error of a bucket without space.
func full(text string) error { return &answerError{text, errAnswer} }
