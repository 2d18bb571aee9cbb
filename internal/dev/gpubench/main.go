// Command gpubench checks and measures training steps, inference and matrix products on a
// GPU. make gpu-pack puts it into the folder that it writes:
//
//	gpubench truth -lengths uniform-512 -torch "python3 torch_truth.py"  # is it right, at full size?
//	gpubench step --model large --lengths wikipedia-512 --precision bf16 --seconds 60
//	gpubench step --lengths wikipedia-128,full-128 --kernels         # also the time of each kernel
//	gpubench step --nccl --zero1                                     # the exchange between ranks, for a single one
//	gpubench infer --model base --lengths wikipedia-128              # losses without gradients
//	gpubench products --tokens 65536                                 # every product of BERT-large
//	gpubench lengths wikipedia-512                                   # prints lines "length count", for other tools
//
// Every result is a line of JSON. --device sim runs on the simulator, to try the
// commands without a GPU; its times have no meaning.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
	"pretext/trainer/cuda/sim"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gpubench:", err)
		os.Exit(1)
	}
}

// options holds the flags of all commands.
type options struct {
	device    string
	model     string
	lengths   string
	precision string
	tokens    int
	vocab     int
	seconds   float64
	kernels   bool
	nccl      bool
	zero1     bool
	train     bool // false: inference
	parts     int  // micro-batches of a step; of truth those in fp32

	optimizer     string
	deterministic bool

	truthOptions
}

// truthOptions holds the flags of truth alone.
type truthOptions struct {
	torchProgram string
	out          string
	plant        string
	checks       string
	steps        int
}

func run(args []string, w io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("give a command: truth, step, infer, products or lengths")
	}
	var o options
	fs := flag.NewFlagSet("gpubench "+args[0], flag.ContinueOnError)
	fs.StringVar(&o.device, "device", "cuda:0", "cuda:N, or sim")
	fs.StringVar(&o.model, "model", "large", "size of the model: "+strings.Join(trainer.PresetNames(), ", "))
	fs.StringVar(&o.lengths, "lengths", "wikipedia-512", "lengths of the sequences, separated by commas: "+strings.Join(lengthNames(), ", ")+", full-N")
	fs.StringVar(&o.precision, "precision", "bf16", "fp32, bf16, fp16, or fp8 of step and infer")
	fs.IntVar(&o.tokens, "tokens", 65536, "tokens in a step")
	fs.IntVar(&o.vocab, "vocab", 30522, "tokens of the vocabulary")
	fs.Float64Var(&o.seconds, "seconds", 60, "least time to measure, for each of the lengths")
	fs.BoolVar(&o.kernels, "kernels", false, "then time each kernel and product, in a few more steps")
	fs.BoolVar(&o.nccl, "nccl", false, "exchange gradients by NCCL although there is one rank: what its calls cost")
	fs.BoolVar(&o.zero1, "zero1", false, "with -nccl: exchange them as ranks that divide the optimizer's state")
	fs.StringVar(&o.torchProgram, "torch", "", "truth: program that computes the same in PyTorch, e.g. \"python3 torch_truth.py\"; it has -seconds for it")
	fs.StringVar(&o.out, "out", "truth", "truth: folder for the files that the program of -torch reads and writes")
	fs.StringVar(&o.plant, "plant", "", "truth: a fault of the simulated device, which must be found: "+strings.Join(faults, ", "))
	fs.StringVar(&o.checks, "checks", allChecks, "truth: what to check")
	fs.IntVar(&o.steps, "steps", 20, "truth: steps with each optimizer")
	fs.IntVar(&o.parts, "parts", 0, "micro-batches of a step; 0: one, and four of the reference in fp32 of truth, which needs twice the memory of 16 bits")
	fs.StringVar(&o.optimizer, "optimizer", string(trainer.AdamW), "step: adamw or lamb")
	fs.BoolVar(&o.deterministic, "deterministic", false, "step: the same bits in every run")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "lengths":
		return printLengths(w, fs.Arg(0))
	case "step", "infer", "products", "truth":
	default:
		return fmt.Errorf("unknown command %q: step, infer, products, truth or lengths", args[0])
	}
	d, err := o.open()
	if err != nil {
		return err
	}
	switch args[0] {
	case "products":
		err = o.products(w, d)
	case "truth":
		err = o.truth(w, d)
	default:
		o.train = args[0] == "step"
		err = o.step(w, d)
	}
	if closing := d.Close(); err == nil {
		err = closing
	}
	return err
}

// open opens the device that --device names.
func (o *options) open() (device.Device, error) {
	if o.device == "sim" {
		g := sim.NewGPU(sim.Options{Seed: 1, Memory: 4 << 30, Network: sim.NewNetwork()})
		if o.plant == "" {
			return g, nil
		}
		c, err := trainer.Preset(o.model, o.vocab)
		if err != nil {
			return nil, err
		}
		return newPlanted(g, o.plant, c.HiddenSize)
	}
	number, ok := strings.CutPrefix(o.device, "cuda:")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil, fmt.Errorf("--device %q: must be cuda:N or sim", o.device)
	}
	return driver.Open(n)
}

// write prints a result as a line of JSON.
func write(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", b)
	}
	return err
}

// milliseconds returns d in milliseconds, for results.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
