// Package sim runs PTX on the processor: a GPU for tests, which is slow and sees
// everything.
//
//	device := sim.New(sim.Options{Seed: 1})
//	module, err := device.Load(text)              // PTX, as it would go to a driver
//	kernel, err := module.Kernel("layernorm_forward")
//	x, err := device.Alloc("x", 4*n)
//	err = device.Write(x, bytes)
//	err = device.Launch(kernel, sim.Config{Grid: sim.Dim{X: rows}, Block: sim.Dim{X: 128}}, args)
//	err = device.Read(bytes, x)
//
// It executes the very text that a user's driver compiles, a warp of 32 lanes at
// a time, and needs neither a GPU nor cgo.
//
// # What it finds
//
// A launch that did something wrong returns a [*Fault] with the line of the CUDA
// source, the block and the thread, even where the numbers came out right. All
// of memory has a shadow (see cell) that knows who touched it last, so a race is
// found in whatever order the threads ran:
//
//   - addresses outside of every allocation, or misaligned;
//   - memory or registers that are read and were never written;
//   - memory touched while a cp.async into it is under way;
//   - races between blocks, between warps without a barrier, inside a warp
//     without __syncwarp; atomics race with loads and stores only;
//   - collectives (shuffles, votes, ldmatrix, mma) without some of the lanes that
//     they name, barriers that not all threads reach;
//   - races between streams;
//   - launches that a driver refuses: shapes, arguments, and more than 48 KiB of
//     shared memory without an opt-in.
//
// What hardware leaves open is decided by [Options.Seed]: the order of blocks, of
// warps (which take turns), and of atomics. Run a test with many seeds.
//
// It counts what costs time: instructions, bank conflicts in shared memory,
// sectors of global memory ([Kernel.Counts], [Kernel.CountsByLine]).
//
// # Streams and products
//
// [Device.NewStream] returns a queue of launches, copies, products of matrices
// ([Matmul], with the semantics of cublasLtMatmul) and events. Work begins when
// the host synchronizes; streams then take turns at random, and work of two
// streams that touches the same memory without an event between is a fault.
//
// [GPU] has the methods of trainer/cuda/device, so that what runs on a GPU runs on
// the simulator unchanged.
//
// # What it does not show
//
// Time, occupancy and registers; the last bits of approximations (ex2, lg2,
// rsqrt, tanh are rounded correctly here) and of sums inside an mma; what the
// driver's compiler makes of the PTX; the memory model beyond barriers: fences
// are accepted and order nothing, so a kernel that passes data between blocks by
// a flag is reported as a race. Blocks run one after the other: one that waits
// for another never ends, which is a fault too.
//
// # How it works
//
//	ptx.Parse   text → instructions with operands
//	compile     each instruction → a Go function and its registers (program.go, forms.go)
//	Device.run  a block: warps take turns; a warp: the group of lanes that is furthest behind runs (warp.go)
//
// A register is a row of 32 values, so that an instruction is one loop. The
// instructions are those that our kernels consist of; another is an error of
// [Device.Load] that names it, and takes one line in a table to add.
package sim
