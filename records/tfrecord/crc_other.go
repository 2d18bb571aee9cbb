//go:build !amd64

package tfrecord

const hasFold, hasFold16 = false, false

func foldCRC([]byte) uint32 { panic("BUG: tfrecord: no vector instructions") }

func foldCRC16([]byte) uint32 { panic("BUG: tfrecord: no vector instructions") }
