//go:build !amd64 && !arm64

package kernel

import "fmt"

// single returns the inner loops for an instruction set in single precision.
func single(isa ISA) (*Set[float32], error) {
	if isa != Best && isa != Plain {
		return nil, fmt.Errorf("instruction set %q: not on this machine", isa)
	}
	return plain[float32](), nil
}
