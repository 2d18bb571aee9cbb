package sim_test

import (
	"fmt"

	"pretext/trainer/cuda/sim"
)

// A kernel that doubles 40 numbers, with 64 threads and no check of the number.
const double = `
.version 8.1
.target sm_80
.address_size 64
.visible .entry double(.param .u64 x)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.loc 1 3 5
	mov.u32 %r1, %tid.x;
	ld.param.u64 %rd1, [x];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r2, [%rd3];
	add.s32 %r3, %r2, %r2;
	st.global.u32 [%rd3], %r3;
	ret;
}
.file 1 "double.cu"
`

func Example() {
	device := sim.New(sim.Options{Seed: 1})
	module, err := device.Load(double)
	if err != nil {
		panic(err)
	}
	kernel, err := module.Kernel("double")
	if err != nil {
		panic(err)
	}
	x, err := device.Alloc("x", 4*40)
	if err != nil {
		panic(err)
	}
	bytes := make([]byte, 4*40)
	bytes[0] = 21
	if err := device.Write(x, bytes); err != nil {
		panic(err)
	}
	args := []byte{byte(x), byte(x >> 8), byte(x >> 16), byte(x >> 24), byte(x >> 32), byte(x >> 40), byte(x >> 48), byte(x >> 56)}
	fmt.Println(device.Launch(kernel, sim.Config{Block: sim.Dim{X: 40}}, args))
	if err := device.Read(bytes, x); err != nil {
		panic(err)
	}
	fmt.Println(bytes[0])
	fmt.Println(device.Launch(kernel, sim.Config{Block: sim.Dim{X: 64}}, args))
	// Output:
	// <nil>
	// 42
	// double: double.cu:3: ld.global.u32: out of bounds: block 0, thread 40: address 0x7f00000000a0, 4 bytes: byte 160 of x, which has 160
}
