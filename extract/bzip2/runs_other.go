//go:build !amd64 && !arm64

package bzip2

const hasChunks = false

func copyChunks(*byte, *byte, int) int { panic("BUG: bzip2: no vector instructions") }
