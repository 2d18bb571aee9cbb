package command

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"pretext/trainer"
)

// deviceOptions say what computes, and how. This build computes on the
// processor, in single precision, and always the same bits.
type deviceOptions struct {
	name          string
	precision     string
	deterministic bool
}

func defaultDevice() deviceOptions {
	return deviceOptions{name: "cpu", precision: string(trainer.Float32), deterministic: true}
}

func (o *deviceOptions) add(fs *pflag.FlagSet) {
	fs.StringVar(&o.name, "device", o.name, "what computes: cpu")
	fs.StringVar(&o.precision, "precision", o.precision, "arithmetic: fp32")
	fs.BoolVar(&o.deterministic, "deterministic", o.deterministic, "equal runs give equal bits; the processor computes no other way")
	for _, name := range []string{"device", "precision", "deterministic"} {
		fs.Lookup(name).Hidden = true // until there is a second value
	}
}

func (o *deviceOptions) validate() error {
	kind, number, numbered := strings.Cut(o.name, ":")
	switch {
	case kind == "cuda" && (!numbered || strings.Trim(number, "0123456789") == "" && number != ""):
		return fmt.Errorf("--device %s: this build has no CUDA and computes on the processor: --device cpu", o.name)
	case o.name != "cpu":
		return fmt.Errorf("--device %q: must be cpu", o.name)
	}
	switch p := trainer.Precision(o.precision); p {
	case trainer.Float32:
		return nil
	case trainer.BFloat16, trainer.Float16:
		return fmt.Errorf("--precision %s: the processor computes in fp32", p)
	}
	return fmt.Errorf("--precision %q: must be fp32", o.precision)
}
