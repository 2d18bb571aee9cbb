package records

// hasFours is the condition of packFours and unpackFours: every arm64 processor has NEON.
const hasFours = true

// packVector writes the varints of values to out and returns their size in bytes. It
// returns -1, and leaves undefined bytes in out, if a value is not below shortLimit. out
// must be vectorSpare bytes longer than the result.
func packVector(out []byte, values []int32) int { return packByFours(out, values) }
