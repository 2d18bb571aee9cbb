package sim

import "fmt"

// A Kind is a class of faults.
type Kind string

// The kinds of faults. Each is a bug of the kernel or of its launch, even where
// the numbers came out right.
const (
	OutOfBounds     Kind = "out of bounds"             // outside of every allocation, or of shared memory
	Misaligned      Kind = "misaligned"                // an address that is no multiple of the access
	Unwritten       Kind = "never written"             // memory that is read and was never written
	UnsetRegister   Kind = "register never set"        // a register that is read and was never set
	AsyncPending    Kind = "cp.async not waited for"   // touched while a copy into it is under way
	RaceInGrid      Kind = "race between blocks"       // of one launch
	RaceInBlock     Kind = "race between warps"        // no barrier between
	RaceInWarp      Kind = "race inside a warp"        // no __syncwarp between
	RaceInStreams   Kind = "race between streams"      // no event between
	HostChanged     Kind = "host memory changed"       // while it waits to be copied
	Divergent       Kind = "divergent collective"      // not all lanes that it names take part
	BarrierMismatch Kind = "barriers differ"           // warps of a block wait at different barriers
	BadLaunch       Kind = "bad launch"                // limits and arguments of a launch
	Hang            Kind = "does not end"              // more instructions than the device's limit
	BadMatmul       Kind = "bad matrix multiplication" // shapes, layouts or an epilogue that cuBLASLt refuses
)

// A Fault is what the simulator found. It ends the launch.
type Fault struct {
	Kind   Kind
	Kernel string
	Source string // file:line of the CUDA source, "" where it is not known
	Op     string // instruction, "" for faults of a launch
	Block  int
	Thread int // inside the block
	Detail string
}

// Error says what happened where.
func (f *Fault) Error() string {
	if f.Op == "" {
		return fmt.Sprintf("%s: %s: %s", f.Kernel, f.Kind, f.Detail)
	}
	return fmt.Sprintf("%s: %s: %s: %s: block %d, thread %d: %s", f.Kernel, f.Source, f.Op, f.Kind, f.Block, f.Thread, f.Detail)
}

// fault ends the launch: Device.Launch recovers it.
func (w *warp) fault(in *instr, kind Kind, lane int, format string, args ...any) {
	panic(&Fault{
		Kind: kind, Kernel: w.block.program.Name, Source: in.source.String(), Op: in.op,
		Block: w.block.index, Thread: w.id*warpSize + lane, Detail: fmt.Sprintf(format, args...),
	})
}
