// Package ptx parses PTX, NVIDIA's virtual assembly language, in the form that
// the compiler NVRTC writes.
//
//	module, err := ptx.Parse(text)
//	kernel := module.Kernel("layernorm_forward")
//	for i := range kernel.Code { fmt.Println(kernel.Code[i]) }
//
// # What a module looks like
//
//	.version 8.1                              Module.Version
//	.target sm_80                             Module.Target
//	.visible .entry scale(                    a Kernel
//	  .param .u64 scale_param_0,              Params: offset and size in the argument bytes of a launch
//	  .param .u32 scale_param_1 )
//	.maxntid 128, 1, 1                        MaxThreads
//	{
//	  .reg .b32 %r<5>;                        Registers: %r0 … %r4
//	  .shared .align 4 .b8 sums[32];          Shared: offset and size in static shared memory
//	  .loc 1 12 3                             Source of the next instructions: file 1, line 12
//	  ld.param.u32 %r1, [scale_param_1];      an Instruction
//	  @%p1 bra $L__BB0_2;                     Guard: runs in the threads where %p1 is true
//	  …
//	$L__BB0_2:                                Labels: index into Code
//	  ret;
//	}
//
// The package parses only the grammar; trainer/cuda/sim executes instructions.
// Constructs that NVRTC does not write for pretext's kernels are errors: functions
// and calls, local memory (a kernel with a stack), textures, nested scopes. Global
// variables are skipped, because NVRTC puts some constants into every module;
// instructions must not use them.
//
// [Module.String] returns PTX that parses to the same module. A module does not
// change after [Parse], so goroutines may share it.
package ptx
