package cuda

import (
	"fmt"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// A module is a source file of package kernels and the kernels in it.
type module struct {
	name    string
	threads int // threads of a block: __launch_bounds__ in the source
	kernels []string
}

var modules = []module{
	{"norm", 128, []string{"embed_forward", "norm_forward", "norm_backward", "dropout_rows"}},
	{"modern", 128, []string{"rotate", "geglu_forward", "geglu_backward", "words_forward", "words_backward", "stream_forward", "stream_backward", "spread_stream",
		"mean_rows", "mean_rows_backward"}},
	{"attention", 128, []string{"attention_forward", "attention_delta", "attention_backward_queries", "attention_backward_keys",
		"attention_local_forward", "attention_local_backward_queries", "attention_local_backward_keys"}},
	{"flash", 128, []string{"flash_forward", "flash_backward", "flash_queries_done", "flash_backward_queries", "flash_backward_keys",
		"flash_local_forward", "flash_local_backward", "flash_local_backward_queries", "flash_local_backward_keys"}},
	{"elementwise", 256, []string{"gelu_forward", "gelu_again", "gelu_backward", "tanh_forward", "tanh_backward", "add", "round_down", "column_sums", "add_parts",
		"gather_rows", "add_rows_f32", "add_rows_elem"}},
	{"loss", 256, []string{"cross_entropy", "span_entropy", "squared_error", "sum_losses"}},
	{"fp8", 256, []string{"fp8_amax", "fp8_e4m3", "fp8_e5m2", "fp8_roll"}},
	{"optim", 256, []string{"sum_squares", "begin_update", "adamw", "lamb_direction", "lamb_ratios", "lamb_move", "stable_direction", "stable_ratios"}},
}

// single is the name prefix of the loss kernels compiled for fp32. In every precision all
// heads except masked LM use these kernels, because 16-bit logits would double the error of
// the losses.
const single = "single "

// A kernelSet maps names to the kernels built for one element type.
type kernelSet map[string]kernel

type kernel struct {
	function device.Function
	threads  int // threads of a block
	shared   int // bytes of dynamic shared memory
}

// load returns the kernels built for element type t. It loads them at the first
// call.
func (b *Backend) load(t kernels.Type) (kernelSet, error) {
	if set := b.modules[t]; set != nil {
		return set, nil
	}
	set := kernelSet{}
	for _, m := range modules {
		if m.name == "loss" {
			if err := b.loadModule(set, single, kernels.F32, m); err != nil {
				return nil, err
			}
		}
		if m.name == "flash" && t == kernels.F32 {
			continue // the tensor-core kernels exist for 16-bit types only
		}
		if p := b.device.Properties(); m.name == "fp8" && (t != kernels.BF16 || p.Major*10+p.Minor < 89) {
			continue // its instructions are those of later chips
		}
		if err := b.loadModule(set, "", t, m); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"flash_backward", "flash_backward_keys", "flash_local_backward", "flash_local_backward_keys"} {
		if k, ok := set[name]; ok {
			k.shared = kernels.FlashShared
			if err := b.device.AllowShared(k.function, k.shared); err != nil {
				return nil, fmt.Errorf("kernel %s: %w", name, err)
			}
			set[name] = k
		}
	}
	b.modules[t] = set
	return set, nil
}

// loadModule loads module m as built for element type t and adds its kernels to set
// under prefix + name.
func (b *Backend) loadModule(set kernelSet, prefix string, t kernels.Type, m module) error {
	text, err := kernels.PTX(m.name, t)
	if err != nil {
		return err
	}
	loaded, err := b.device.Load(text)
	if err != nil {
		return fmt.Errorf("load module %s: %w", m.name, err)
	}
	for _, name := range m.kernels {
		f, _, err := b.device.Function(loaded, name)
		if err != nil {
			return fmt.Errorf("kernel %s: %w", name, err)
		}
		set[prefix+name] = kernel{function: f, threads: m.threads}
	}
	return nil
}

// A queue queues work in one stream. After an error, which stays in err, its methods
// do nothing.
type queue struct {
	device  device.Device
	stream  device.Stream
	kernels kernelSet
	size    int // bytes of an element, for profiles
	err     error
}

// try stores err, prefixed with what, in q.err if q.err is nil.
func (q *queue) try(what string, err error) {
	if q.err == nil && err != nil {
		q.err = fmt.Errorf("%s: %w", what, err)
	}
}

// launch queues the kernel name with args. A dimension of grid that is 0 counts as
// 1.
func (q *queue) launch(name string, grid device.Dim, args ...any) {
	if q.err != nil {
		return
	}
	k, ok := q.kernels[name]
	if !ok {
		panic("BUG: no kernel " + name)
	}
	q.describe(name, grid, args)
	c := device.Config{Grid: grid, Block: device.Dim{X: k.threads}, Shared: k.shared}
	q.try(name, q.device.Launch(q.stream, k.function, c, kernels.Pack(args...)))
}

// each queues an elementwise kernel over n elements; a thread computes four.
func (q *queue) each(name string, n int, args ...any) {
	q.launch(name, device.Dim{X: blocks(n, 4*256)}, args...)
}

func (q *queue) clear(p device.Pointer, n int) {
	if q.err == nil {
		q.try("clear", q.device.Clear(q.stream, p, n))
	}
}

func (q *queue) toDevice(to device.Pointer, b []byte) {
	if q.err == nil {
		q.try("copy to the device", q.device.ToDevice(q.stream, to, b))
	}
}

func (q *queue) toHost(b []byte, from device.Pointer) {
	if q.err == nil {
		q.try("copy to the host", q.device.ToHost(q.stream, b, from))
	}
}

func (q *queue) record(e device.Event) {
	if q.err == nil {
		q.try("record", q.device.Record(q.stream, e))
	}
}

func (q *queue) wait(e device.Event) {
	if q.err == nil {
		q.try("wait", q.device.Wait(q.stream, e))
	}
}

// sync waits for the stream's work and returns q.err, the first error.
func (q *queue) sync() error {
	if q.err == nil {
		q.err = q.device.SyncStream(q.stream)
	}
	return q.err
}
