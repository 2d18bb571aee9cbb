//go:build !amd64

package wikitext

func canMark() bool { return false }

func markBlocks(*byte, int, *uint64) { panic("BUG: wikitext: no vector instructions") }
