//go:build !linux

package store

import "os"

func aligned(int64, []byte) bool { return false }

func setDirect(*os.File, bool) bool { return false }

func refused(error) bool { return false }
