package records

// vectorPackers returns the versions of packVector that this processor can run.
func vectorPackers() map[string]func([]byte, []int32) int {
	packers := map[string]func([]byte, []int32) int{}
	if hasVBMI2 {
		packers["VBMI2"] = packVBMI2
	}
	if hasFours {
		packers["AVX2"] = packByFours
	}
	return packers
}
