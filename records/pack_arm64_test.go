package records

// vectorPackers returns the versions of packVector that this processor can run.
func vectorPackers() map[string]func([]byte, []int32) int {
	return map[string]func([]byte, []int32) int{"NEON": packVector}
}
