// Package kernels holds the CUDA kernels of the trainer, compiled to PTX.
//
//	text, err := kernels.PTX("norm", kernels.BF16)      // goes to the driver, or to trainer/cuda/sim
//	args := kernels.Pack(y, x, rows, kernels.Dropout{…}) // argument bytes of a launch
//
// A module is a source file compiled for one type: norm.cu compiled with -DDT_BF16
// is norm.bf16.ptx. Weights and activations in a step have this type. Sums,
// statistics, losses, gradients of weights and the optimizer are in single
// precision in all modules. In the source, a comment above each kernel gives its
// arguments and their shapes.
//
//	dev.cuh         types, Philox, sums of a warp and of a block
//	norm.cu         embeddings, LayerNorm with bias, dropout and residual
//	attention.cu    attention over sequences of any length, with a window or without, one warp per row
//	flash.cu        the same on tensor cores, for the 16-bit types only
//	modern.cu       rotary positions, gated activation, LayerNorm and means of sequences of ModernBERT
//	elementwise.cu  GELU, tanh, biases, casts, sums of columns, gathering and adding rows
//	loss.cu         cross entropy, spans, regression
//	fp8.cu          8-bit operands: sizes, conversion with transposition; of bfloat16 only
//	optim.cu        norm of the gradients, loss scale, AdamW, LAMB, StableAdamW
//
// # How they are built
//
// The sources include no headers of NVIDIA. go generate (make ptx-write) compiles them
// with NVRTC, in the version that internal/dev/checks/envs pins. The PTX is committed, so a
// user's machine needs only the driver. make ptx makes machine code of it for sm_80 and
// sm_90 with ptxas, as a driver does, and fails if a kernel has a stack or spilled
// registers, or if a multiprocessor has no room for as many blocks as nvrtc.py lists.
// Neither command needs a GPU.
//
// # How they are tested
//
// Tests run each kernel on trainer/cuda/sim, in one type or, with PRETEXT_FULL set, in
// all three, and compare the results with a computation in Go in double precision.
// With the build tag gpu the same tests run on a GPU (see make gpu-pack). Further
// tests check that:
//
//   - a whole step of BERT, forward and backward with dropout on sequences of
//     different lengths, has the losses and gradients of trainer/cpu;
//   - tests find artificial faults in the kernels, listed ones (mutants_test.go) and ones
//     generated from every source line (generated_test.go, which lists the few that
//     compute the same);
//   - some test fails if the last store of a kernel is removed (coverage_test.go);
//   - bank conflicts and sectors of global memory stay below limits.
//
// Sums have a fixed order and use no atomics, so every run gives the same bits. The
// only exception is flash_backward. flash_backward_queries and flash_backward_keys
// replace it if equal bits are required.
package kernels
