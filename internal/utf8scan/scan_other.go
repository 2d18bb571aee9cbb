//go:build !amd64 && !arm64

package utf8scan

func fast() bool { return false }

func validBlocks(*byte, int) bool { panic("BUG: utf8scan: no vector instructions") }
