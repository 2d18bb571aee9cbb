//go:build unix

package s3

import "syscall"

// full returns the error of a bucket without space.
func full(text string) error { return &answerError{text, syscall.EDQUOT} }
