//go:build !amd64 && !arm64

package pyrandom

func fast() bool { return false }

func twistBlocks(*uint64, int, int) { panic("BUG: pyrandom: no vector instructions") }

func temperBlocks(*uint32, *uint64, int) { panic("BUG: pyrandom: no vector instructions") }
