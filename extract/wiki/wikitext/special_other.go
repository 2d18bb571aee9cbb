//go:build !amd64 && !arm64

package wikitext

func canMark() bool { return false }

func markBlocks(*byte, int, *mark64) { panic("BUG: wikitext: no vector instructions") }
