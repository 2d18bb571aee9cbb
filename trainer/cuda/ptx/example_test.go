package ptx_test

import (
	"fmt"

	"pretext/trainer/cuda/ptx"
)

func Example() {
	module, err := ptx.Parse(".version 8.1\n.target sm_80\n.visible .entry stop(.param .u64 x)\n{\n.loc 1 7 0\n@%p1 bra END;\nEND: ret;\n}\n.file 1 \"stop.cu\"")
	if err != nil {
		panic(err)
	}
	for _, in := range module.Kernel("stop").Code {
		fmt.Println(in.Source, in)
	}
	// Output:
	// stop.cu:7 @%p1 bra END;
	// stop.cu:7 ret;
}
