package records

import "golang.org/x/sys/cpu"

// hasVBMI2 and hasFours report whether this processor has the vector instructions of
// packVBMI2, and packFours and unpackFours.
var (
	hasVBMI2 = cpu.X86.HasAVX512 && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasPOPCNT
	hasFours = cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT
)

// packVector writes the varints of values to out and returns their size in bytes. It
// returns -1, and leaves undefined bytes in out, if a value is not below shortLimit or the
// processor lacks the vector instructions. out must be vectorSpare bytes longer than the
// result.
func packVector(out []byte, values []int32) int {
	switch {
	case hasVBMI2:
		return packVBMI2(out, values)
	case hasFours:
		return packByFours(out, values)
	}
	return -1
}

// packVBMI2 implements packVector with AVX-512 VBMI2, 16 values at a time.
//
//go:noescape
func packVBMI2(out []byte, values []int32) int
