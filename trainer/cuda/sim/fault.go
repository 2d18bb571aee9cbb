package sim

import "fmt"

// A Kind is a kind of fault, in words that error messages show.
type Kind string

// The kinds of faults. Each is a bug of a kernel, of its launch, or of the work
// in streams, even if the results are right.
const (
	OutOfBounds     Kind = "out of bounds"             // address outside of every allocation, or outside of shared memory
	Misaligned      Kind = "misaligned"                // address that is not a multiple of the access size
	Unwritten       Kind = "never written"             // read of memory that was never written
	UnsetRegister   Kind = "register never set"        // read of a register that was never set
	AsyncPending    Kind = "cp.async not waited for"   // access to memory before a cp.async into it was waited for
	RaceInGrid      Kind = "race between blocks"       // two blocks of one launch access the same memory and one writes
	RaceInBlock     Kind = "race between warps"        // two warps of a block, without a barrier between the accesses
	RaceInWarp      Kind = "race inside a warp"        // two threads of a warp, without __syncwarp between the accesses
	RaceInStreams   Kind = "race between streams"      // two streams, without an event between the accesses
	HostChanged     Kind = "host memory changed"       // the host changed memory before the queued copy of it ran
	Divergent       Kind = "divergent collective"      // a lane of the instruction's mask does not execute it
	BarrierMismatch Kind = "barriers differ"           // warps of a block wait at different barriers
	BadLaunch       Kind = "bad launch"                // shape, shared memory or arguments that a driver refuses
	Hang            Kind = "does not end"              // a block executed more than Options.MaxInstructions, or never ends
	BadCollective   Kind = "bad collective"            // buffers that NCCL refuses, or a call that differs from another rank's call
	BadMatmul       Kind = "bad matrix multiplication" // shapes, layouts or an epilogue that cuBLASLt refuses
)

// A Fault is a bug that the simulator found, and its place. It ends the launch.
type Fault struct {
	Kind   Kind
	Kernel string
	Source string // file:line of the CUDA source; "" if unknown
	Op     string // opcode of the PTX instruction; "" for faults of a launch
	Block  int
	Thread int // index of the thread in its block
	Detail string
}

// Error returns a message with the kernel, source line, instruction, kind, block, thread and
// detail. If the fault is not caused by an instruction, it has only kernel, kind and detail.
func (f *Fault) Error() string {
	if f.Op == "" {
		return fmt.Sprintf("%s: %s: %s", f.Kernel, f.Kind, f.Detail)
	}
	return fmt.Sprintf("%s: %s: %s: %s: block %d, thread %d: %s", f.Kernel, f.Source, f.Op, f.Kind, f.Block, f.Thread, f.Detail)
}

// fault stops the launch with a fault of the given lane, by a panic that
// Device.Launch recovers and returns as an error.
func (w *warp) fault(in *instr, kind Kind, lane int, format string, args ...any) {
	panic(&Fault{
		Kind: kind, Kernel: w.block.program.Name, Source: in.source.String(), Op: in.op,
		Block: w.block.index, Thread: w.id*warpSize + lane, Detail: fmt.Sprintf(format, args...),
	})
}
