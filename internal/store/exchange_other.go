//go:build !linux && !darwin && !windows

package store

import "errors"

// exchange is not supported on this system.
func exchange(a, b string) error { return errors.ErrUnsupported }

func renameNoReplace(string, string) error { return errors.ErrUnsupported }
