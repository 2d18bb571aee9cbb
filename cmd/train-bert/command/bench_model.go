package command

import (
	"fmt"
	"io"

	"pretext/trainer/session"
)

// printModelTime prints the kernels of a step, measured and on paper. It prints nothing if
// t is nil.
func printModelTime(w io.Writer, t *session.ModelTime) error {
	if t == nil {
		return nil
	}
	if t.Chip == "" {
		fmt.Fprintf(w, "the model on paper has no figures for this GPU, %s: nothing is expected\n", t.GPU)
	} else {
		fmt.Fprintf(w, "kernels of a step on %s; expected: a model on paper of %s, not a measurement\n", t.GPU, t.Chip)
	}
	fmt.Fprintf(w, "%6s %12s %12s %7s  %s\n", "calls", "measured ms", "expected ms", "ratio", "kernel")
	for _, k := range t.Kernels {
		fmt.Fprintf(w, "%6d %12.3f %12s %7s  %s\n", k.Calls, k.Measured, orDash("%.3f", k.Expected), orDash("%.2f", ratio(k.Measured, k.Expected)), k.Name)
	}
	_, err := fmt.Fprintf(w, "all kernels: %.3f ms; those with an expected time: %.3f ms, expected %.3f ms\n", t.Measured, t.Compared, t.Expected)
	return err
}

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// orDash formats v, or returns a dash if it is 0.
func orDash(format string, v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
