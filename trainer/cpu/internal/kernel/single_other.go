//go:build !amd64

package kernel

import "fmt"

// single returns the set of an instruction set for single precision.
func single(isa ISA) (*Set[float32], error) {
	if isa != Best && isa != Plain {
		return nil, fmt.Errorf("instruction set %q: not on this machine", isa)
	}
	return plain[float32](), nil
}
