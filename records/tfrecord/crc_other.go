//go:build !amd64

package tfrecord

const hasFold = false

func foldCRC([]byte) uint32 { panic("BUG: tfrecord: no vector instructions") }
