//go:build !amd64

package bzip2

const hasVBMI = false

func decodeVector(*symbolDecoder) { panic("BUG: bzip2: no vector instructions") }
