package command

import (
	"github.com/spf13/pflag"

	"pretext/trainer/session"
)

// addDevice adds the flags --device, --precision and --threads, which set d.
func addDevice(fs *pflag.FlagSet, d *session.Device) {
	fs.StringVar(&d.Name, "device", "cpu", "device to compute on: cpu, cuda, or cuda:N for one of several GPUs")
	fs.StringVar((*string)(&d.Precision), "precision", "", "arithmetic: fp32, bf16, fp16 or fp8; default: fp32 on the CPU (its only one), bf16 on a GPU")
	fs.IntVar(&d.Threads, "threads", 0, "number of threads that compute on the CPU; 0: one per processor; does not affect results")
}

// addTrainingDevice adds the flags of addDevice, and --deterministic.
func addTrainingDevice(fs *pflag.FlagSet, d *session.Device) {
	addDevice(fs, d)
	fs.BoolVar(&d.Deterministic, "deterministic", false, "make results on a GPU bit-for-bit reproducible, at a lower speed; results on the CPU always are")
}
