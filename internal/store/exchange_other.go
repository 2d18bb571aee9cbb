//go:build !linux

package store

import "errors"

// exchange cannot be done here.
func exchange(a, b string) error { return errors.ErrUnsupported }
