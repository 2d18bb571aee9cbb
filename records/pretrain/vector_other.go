//go:build !amd64 && !arm64

package pretrain

var hasEights, hasWiden, hasCompress bool // false

func putCandidates([]uint16, []int32, int32, int32) int {
	panic("BUG: pretrain: no vector instructions")
}

func widenVector([]int32, []uint16) { panic("BUG: pretrain: no vector instructions") }

func putEights([]uint16, []int32, int32, int32, *[256][8]uint16) int {
	panic("BUG: pretrain: no vector instructions")
}

func widenEights([]int32, []uint16) { panic("BUG: pretrain: no vector instructions") }

const canFetch = false

func fetch(*byte) { panic("BUG: pretrain: no instruction to load ahead") }
