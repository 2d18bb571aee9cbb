package extract

import (
	"slices"

	"github.com/klauspost/compress/zstd"

	"pretext/extract/parallel"
)

// Limits of the blocks that wait until they are compressed and written.
const (
	maxWaitingFrames = 8
	maxWaitingBytes  = 8 << 20 // JSON lines; one block may be larger
)

// sharedFrames are blocks of a documents file that the jobs of a team compress.
type sharedFrames struct {
	team    *parallel.Team
	waiting []*sharedFrame // in the order of the file
	bytes   int            // JSON lines in waiting
	spare   []*sharedFrame // written; their buffers are reused
	encs    chan *zstd.Encoder
}

// A sharedFrame is a block that a job compresses.
type sharedFrame struct {
	job        *parallel.Job
	block      Block
	raw, frame []byte
	err        error
}

// Share lets a team compress the blocks of the current file. Its bytes stay the same,
// because a frame depends on its block alone.
func (w *Writer) Share(team *parallel.Team) {
	w.shared = &sharedFrames{team: team, encs: make(chan *zstd.Encoder, maxWaitingFrames+1)}
	if w.enc != nil {
		w.shared.encs <- w.enc
	}
}

// shareFrame starts the compression of a block, whose lines are in w.raw.
func (w *Writer) shareFrame(block Block) error {
	s, level := w.shared, w.level
	f := new(sharedFrame)
	if n := len(s.spare); n > 0 {
		f = s.spare[n-1]
		s.spare = s.spare[:n-1]
	}
	f.block, f.raw, w.raw = block, w.raw, f.raw[:0]
	f.job = s.team.StartFirst(func() { f.err = s.compress(level, f) })
	s.waiting = append(s.waiting, f)
	s.bytes += len(f.raw)
	keep := maxWaitingFrames
	if s.team.Alone() {
		keep = 0
	}
	return w.settleFrames(keep)
}

// compress makes the frame of a block.
func (s *sharedFrames) compress(level Level, f *sharedFrame) (err error) {
	var enc *zstd.Encoder
	select {
	case enc = <-s.encs:
	default:
		if enc, err = level.encoder(); err != nil {
			return err
		}
	}
	f.frame = appendFrame(enc, f.frame[:0], f.raw)
	if enc != nil {
		s.encs <- enc
	}
	return nil
}

// settleFrames writes the oldest waiting blocks until no more than keep are left, and
// those after them that are compressed.
func (w *Writer) settleFrames(keep int) error {
	s := w.shared
	for s != nil && len(s.waiting) > 0 {
		f := s.waiting[0]
		if len(s.waiting) <= keep && (s.bytes <= maxWaitingBytes || len(s.waiting) == 1) && !s.team.Done(f.job) {
			return nil
		}
		s.team.Wait(f.job)
		s.waiting = slices.Delete(s.waiting, 0, 1) // forgets f and its buffers
		s.bytes -= len(f.raw)
		if f.err != nil {
			return f.err
		}
		if err := w.writeFrame(f.block, f.frame); err != nil {
			return err
		}
		if cap(f.raw) <= keptBuffer {
			s.spare = append(s.spare, f)
		}
	}
	return nil
}
