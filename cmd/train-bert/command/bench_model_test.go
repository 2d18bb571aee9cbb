package command

import (
	"strings"
	"testing"

	"pretext/trainer/session"
)

func TestModelTimeIsATable(t *testing.T) {
	m := &session.ModelTime{GPU: "NVIDIA H100", Chip: "H100", Measured: 5, Expected: 2, Compared: 3,
		Kernels: []session.KernelTime{{Name: "norm_forward", Calls: 4, Measured: 3, Expected: 2}, {Name: "begin_update", Calls: 1, Measured: 2}}}
	var b strings.Builder
	if err := printModelTime(&b, m); err != nil {
		t.Fatal(err)
	}
	want := `kernels of a step on NVIDIA H100; expected: a model on paper of H100, not a measurement
 calls  measured ms  expected ms   ratio  kernel
     4        3.000        2.000    1.50  norm_forward
     1        2.000            -       -  begin_update
all kernels: 5.000 ms; those with an expected time: 3.000 ms, expected 2.000 ms
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	m.GPU, m.Chip = "another", ""
	if err := printModelTime(&b, m); err != nil || !strings.HasPrefix(b.String(), "the model on paper has no figures for this GPU, another: ") {
		t.Errorf("%v, %q", err, b.String())
	}
	b.Reset()
	if err := printModelTime(&b, nil); err != nil || b.Len() > 0 {
		t.Errorf("%v, %q", err, b.String())
	}
}
