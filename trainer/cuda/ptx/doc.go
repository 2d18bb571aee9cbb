// Package ptx reads PTX, NVIDIA's assembly for virtual machines, as NVRTC writes it.
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
//	  .param .u64 scale_param_0,              Params: place and size in the flat argument bytes
//	  .param .u32 scale_param_1 )
//	.maxntid 128, 1, 1                        MaxThreads
//	{
//	  .reg .b32 %r<5>;                        Registers: %r0 … %r4
//	  .shared .align 4 .b8 sums[32];          Shared: place and size in static shared memory
//	  .loc 1 12 3                             Source of what follows: file 1, line 12
//	  ld.param.u32 %r1, [scale_param_1];      an Instruction
//	  @%p1 bra $L__BB0_2;                     guarded by %p1
//	  …
//	$L__BB0_2:                                Labels: index into Code
//	  ret;
//	}
//
// The package knows the grammar and nothing of what instructions do: that is
// trainer/cuda/sim. What our compiler never writes is an error and not skipped:
// functions and calls, local memory (a kernel with a stack), textures, nested
// scopes. Global variables are allowed as long as no instruction names one,
// because NVRTC puts a few constants of its own into every module.
//
// [Module.String] writes a module that parses to the same module. Values are not changed after Parse and may be shared by goroutines.
package ptx
