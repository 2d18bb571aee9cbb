// Package kernels holds the CUDA kernels of the trainer, compiled to PTX.
//
//	text, err := kernels.PTX("norm", kernels.BF16)      // goes to the driver, or to trainer/cuda/sim
//	args := kernels.Pack(y, x, rows, kernels.Dropout{…}) // flat argument bytes of a launch
//
// A module is a source file and a type: norm.cu compiled with -DDT_BF16 is
// norm.bf16.ptx. The type is that of weights and activations while computing;
// sums, statistics, losses, gradients of weights and the optimizer are in single
// precision in every build. What a kernel takes, and the shapes, stand above it
// in its source.
//
//	dev.cuh         types, Philox, sums of a warp and of a block
//	norm.cu         embeddings, LayerNorm with bias, dropout and residual
//	attention.cu    attention of sequences of any length, a warp a row
//	flash.cu        the same on tensor cores, 16-bit types only
//	elementwise.cu  GELU, tanh, biases, casts, sums of columns, rows gathered and added
//	loss.cu         cross entropy, spans, regression
//	optim.cu        norm of the gradients, loss scale, AdamW, LAMB
//
// # How they are made
//
// Sources include nothing of NVIDIA's. go generate compiles them with NVRTC, whose
// version the Makefile pins (make ptx), and the PTX is committed: a user's machine
// needs the driver and nothing else. make ptx-check compiles them for sm_80 and
// sm_90 with a newer NVRTC and fails on a stack or on spilled registers. Neither
// needs a GPU.
//
// # How they are tested
//
// On trainer/cuda/sim, in three types, against the same computation in double
// precision in Go; built with the tag gpu, the same checks run on a GPU (see make
// gpu-pack). A whole step of BERT made of them, forward and backward with
// dropout on ragged sequences, has the losses and gradients of trainer/cpu.
// Planted faults are caught (mutants_test.go), and bank conflicts and
// sectors of global memory stay within budgets. Sums are made without atomics in
// a fixed order, so results are the same bits in every run; flash_backward alone
// is not so, and has a twin that is.
package kernels
