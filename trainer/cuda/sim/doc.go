// Package sim simulates an NVIDIA GPU for tests: it executes PTX on the CPU,
// slowly, and checks every access to memory.
//
//	device := sim.New(sim.Options{Seed: 1})
//	module, err := device.Load(text)              // PTX, as it would go to a driver
//	kernel, err := module.Kernel("layernorm_forward")
//	x, err := device.Alloc("x", 4*n)
//	err = device.Write(x, bytes)
//	err = device.Launch(kernel, sim.Config{Grid: sim.Dim{X: rows}, Block: sim.Dim{X: 128}}, args)
//	err = device.Read(bytes, x)
//
// It executes the same PTX text that the driver compiles on a user's machine. It
// runs one warp of 32 lanes (threads) at a time, and needs neither a GPU nor cgo.
//
// # What it finds
//
// A launch with a bug returns a [*Fault] with the line of the CUDA source, the
// block and the thread, even if its results are right. A shadow of all memory (see
// cell) records which threads accessed each place last. So a race is found even if
// the threads happened to run in a harmless order. These are faults:
//
//   - an address that is misaligned or outside of every allocation;
//   - reading memory or registers that were never written;
//   - accessing memory before a cp.async into it was waited for;
//   - races between blocks, between warps without a barrier, inside a warp
//     without __syncwarp (two atomics do not race with each other);
//   - a collective instruction (shuffle, vote, ldmatrix, mma) that some lanes of
//     its mask do not execute, or a barrier that some threads do not reach;
//   - races between streams;
//   - a matrix product whose workspace is missing, smaller than planned or shared with
//     other data, and reading a workspace, which every product overwrites;
//   - a launch that a driver refuses because of its shape or arguments, or because
//     it uses more than 48 KiB of shared memory without [Kernel.AllowShared].
//
// Hardware does not define the order of blocks, warps and atomics. Here it is
// random, from [Options.Seed]: run a test with many seeds.
//
// The simulator counts instructions, bank conflicts in shared memory, and sectors and
// bytes of global memory, because they cost time on a GPU ([Kernel.Counts],
// [Kernel.CountsByLine], [GPU.Counts]).
//
// # Streams and matrix products
//
// [Device.NewStream] returns a queue of launches, copies, matrix products
// ([Matmul], with the semantics of cublasLtMatmul) and events. Work runs when the
// host synchronizes; streams then take turns at random. If two streams access
// the same memory, one of them writes, and no event orders them, that is a fault.
//
// [GPU]s with one [Network] are ranks, each with its own goroutine: collectives have
// the semantics of NCCL. A collective ends when all ranks have begun it. Until then an
// access to its memory by another stream is a race. If the calls of ranks differ in
// kind, size, type or order, they get a fault.
//
// [GPU] implements device.Device, the interface of trainer/cuda/device, so the
// CUDA backend runs on the simulator unchanged.
//
// # What it does not show
//
//   - Time, occupancy and the number of registers.
//   - The last bits of approximate instructions (ex2, lg2, rsqrt, …), of the sums inside
//     an mma, and of a product and a sum that the driver's compiler makes one instruction:
//     a GPU has some of the bits that [Options.Errors] and [Options.Contract] allow.
//   - Other effects of the driver's compiler, which translates the PTX.
//   - The memory model beyond barriers: fences are accepted and have no effect, so
//     a kernel that passes data between blocks by a flag is reported as a race.
//   - Blocks that run at the same time. Here they run one after the other. A block
//     that waits for another one never ends, which is reported as a fault.
//
// # How it works
//
//	ptx.Parse      text → instructions with operands
//	compile        each instruction → a Go function and its registers (program.go, forms.go)
//	Device.Launch  the warps of a block take turns; in a warp, the lanes with the smallest program counter run (warp.go)
//
// A register holds 32 values, one per lane, so each instruction is one loop. Only
// the instructions that pretext's kernels use are supported; for any other
// instruction [Device.Load] returns an error that names it. Most can be added with
// one line in a table of forms.go.
package sim
