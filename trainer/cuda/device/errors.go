package device

import "fmt"

// An Error is an error code that the driver or a library returned.
type Error struct {
	Call   string // e.g. "cuMemAlloc"
	Code   int
	Name   string // e.g. "CUDA_ERROR_OUT_OF_MEMORY"
	Detail string // e.g. "out of memory"; may be empty
}

// Error returns the call, the name and the detail.
func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Code)
	}
	return fmt.Sprintf("%s: %s (%d): %s", e.Call, e.Name, e.Code, e.Detail)
}
