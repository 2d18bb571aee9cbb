package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// A Profile is a device that measures the time of each kernel and matrix product between
// Start and Stop, and computes what they have to do. The events around each take time too: a
// step is slower than without. It has no collectives: profile models of one rank.
type Profile struct {
	device.Device
	on    bool
	work  Work // of the next launch or product
	spans device.Spans[Work]
}

// NewProfile returns a profile of d. Pass it to [New].
func NewProfile(d device.Device) *Profile {
	return &Profile{Device: d, spans: device.NewSpans[Work](d)}
}

// Work is what the launches of a kernel, or the products of a shape, do and take together.
type Work struct {
	Name string `json:"name"`

	// Bytes are read and written if each launch moves its operands once, and caches do the
	// rest; 0: unknown. Operations are those of matrix products.
	Bytes      float64 `json:"bytes"`
	Operations float64 `json:"flop"`
	Width      int     `json:"operand_bytes,omitempty"` // bytes of an operand of the products; 0: 2

	Calls int           `json:"calls"`
	Took  time.Duration `json:"nanoseconds"`
}

// Start begins to measure.
func (p *Profile) Start() { p.on = true }

// Stop waits for all work and returns what was done since Start, the longest first.
func (p *Profile) Stop() ([]Work, error) {
	p.on = false
	total := map[string]*Work{}
	err := p.spans.Read(func(w Work, took time.Duration) {
		t := total[w.Name]
		if t == nil {
			t = &Work{Name: w.Name, Width: w.Width}
			total[w.Name] = t
		}
		t.Calls++
		t.Took += took
		t.Bytes += w.Bytes
		t.Operations += w.Operations
	})
	if err != nil {
		return nil, err
	}
	var list []Work
	for _, t := range total {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Work) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Launch implements [device.Device].
func (p *Profile) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	return p.measure(s, func() error { return p.Device.Launch(s, f, c, args) })
}

// Matmul implements [device.Device].
func (p *Profile) Matmul(s device.Stream, m device.Product, x device.Operands) error {
	return p.measure(s, func() error { return p.Device.Matmul(s, m, x) })
}

// measure runs f, which queues p.work, between two events.
func (p *Profile) measure(s device.Stream, f func() error) error {
	work := p.work
	p.work = Work{}
	if !p.on || work.Name == "" { // without a name it is a measurement of another kind
		return f()
	}
	return p.spans.Measure(s, work, f)
}

// profiled reports whether a profile measures the queue's work.
func (q *queue) profiled() bool {
	p, ok := q.device.(*Profile)
	return ok && p.on
}

// describe tells a profile what the next launch of a queue does.
func (q *queue) describe(name string, grid device.Dim, args []any) {
	p, ok := q.device.(*Profile)
	if !ok || !p.on {
		return
	}
	p.work.Name = name
	if bytes := traffic[name]; bytes != nil && q.size > 0 {
		p.work.Bytes = bytes(launched{args, grid, float64(q.size)})
	}
}

// expect tells a profile how many operations of matrix products the next launch has, or how
// many bytes it moves, if its arguments do not say it.
func (q *queue) expect(operations, bytes float64) {
	if p, ok := q.device.(*Profile); ok {
		p.work.Operations, p.work.Bytes = operations, bytes
	}
}

// describe tells a profile what the next product does.
func (p *products) describe(m device.Matmul, x device.Operands) {
	profile, ok := p.device.(*Profile)
	if !ok {
		return
	}
	size, out := float64(m.Type.Size()), float64(m.Result.Size())
	a, b, d := float64(m.M)*float64(m.K), float64(m.K)*float64(m.N), float64(m.M)*float64(m.N)
	bytes := (a+b)*size + d*out
	if x.Beta != 0 {
		bytes += d * out
	}
	name := ""
	switch m.Epilogue {
	case device.Bias:
		name, bytes = " bias", bytes+float64(m.M)*out
	case device.GELUAuxBias:
		name, bytes = " gelu", bytes+float64(m.M)*out+d*out
	case device.DGELU:
		name, bytes = " dgelu", bytes+d*out
	case device.BGradB:
		name, bytes = " bgradb", bytes+float64(m.N)*out
	}
	if m.Type.Eight() {
		name += " fp8"
	}
	profile.work = Work{Name: fmt.Sprintf("product %d×%d×%d%s", m.M, m.N, m.K, name), Bytes: bytes, Operations: 2 * a * float64(m.N), Width: m.Type.Size()}
}

// launched is a launch: its arguments, its grid and the bytes of an element.
type launched struct {
	args []any
	grid device.Dim
	size float64
}

func (l launched) number(i int) float64 {
	switch v := l.args[i].(type) {
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	}
	panic(fmt.Sprintf("BUG: argument %d is a %T", i, l.args[i]))
}

// given is 1 if a pointer is not null, else 0.
func (l launched) given(i int) float64 {
	if l.args[i] == device.Pointer(0) || l.args[i] == 0 {
		return 0
	}
	return 1
}

func (l launched) rows(i int) float64 { return float64(l.args[i].(kernels.Rows).N) }

// attention returns the bytes of an attention kernel that moves so many elements of each
// token and head, and so many bytes of single precision besides.
func attention(batch int, elements, bytes float64) func(l launched) float64 {
	return func(l launched) float64 {
		b := l.args[batch].(kernels.Batch)
		return float64(b.Tokens) * float64(b.Heads) * (headSize*(elements*l.size) + bytes)
	}
}

// eightBitBytes are those of a conversion to 8 bits: x is read, and written once or twice.
func eightBitBytes(l launched) float64 {
	return l.number(7) * l.number(8) * (l.size + l.given(0) + l.given(1))
}

// streamBytes are those of a LayerNorm around a residual stream in fp32; operands have the
// indices of the kernel's arguments.
func streamBytes(elements, singles []int, rows, width int) func(l launched) float64 {
	return func(l launched) float64 {
		each := 0.0
		for _, i := range elements {
			each += l.given(i) * l.size
		}
		for _, i := range singles {
			each += l.given(i) * 4
		}
		return l.rows(rows) * (l.number(width)*each + 4)
	}
}

// traffic has the bytes that a launch moves, by kernel: rows and matrices, without vectors of
// the width of a row. Kernels that are not here take little time. See the kernels' sources
// for their arguments.
var traffic = map[string]func(l launched) float64{
	"norm_forward": func(l launched) float64 {
		return l.rows(8) * (l.number(10)*l.size*(2+l.given(5)) + 4)
	},
	"norm_backward": func(l launched) float64 {
		n, h := l.rows(9), l.number(11)
		return n*(h*l.size*(3+l.given(1))+4) + float64(l.grid.X)*(2+l.given(1))*h*4
	},
	"add_parts": func(l launched) float64 { return 4 * l.number(3) * (l.number(2) + 2) },
	"column_sums": func(l launched) float64 {
		return l.number(4) * (l.number(3)*l.size*(1+l.given(2)) + 4*float64(l.grid.Y))
	},
	"gelu_forward":  func(l launched) float64 { return 3 * l.number(3) * l.size },
	"gelu_again":    func(l launched) float64 { return 2 * l.number(2) * l.size },
	"gelu_backward": func(l launched) float64 { return 3 * l.number(2) * l.size },
	"attention_delta": func(l launched) float64 {
		return l.number(3) * l.number(4) * (2*headSize*l.size + 4)
	},
	"flash_forward":                attention(3, 4, 4),
	"flash_backward":               attention(6, 6, 8+8*headSize),
	"flash_backward_keys":          attention(5, 6, 8),
	"flash_backward_queries":       attention(5, 5, 8),
	"flash_local_forward":          attention(3, 4, 4),
	"flash_local_backward":         attention(6, 6, 8+8*headSize),
	"flash_local_backward_keys":    attention(5, 6, 8),
	"flash_local_backward_queries": attention(5, 5, 8),
	"fp8_amax":                     func(l launched) float64 { return l.number(2) * l.size },
	"fp8_e4m3":                     eightBitBytes,
	"fp8_e5m2":                     eightBitBytes,
	"rotate":                       func(l launched) float64 { return l.rows(2) * l.number(3) * headSize * 4 * l.size },
	"stream_forward":               streamBytes([]int{0, 1, 4}, []int{3, 5}, 8, 10),
	"stream_backward":              streamBytes([]int{1, 2, 4}, []int{0, 3}, 7, 9),
	"geglu_forward":                func(l launched) float64 { return l.rows(2) * l.number(4) * 3 * l.size },
	"flash_queries_done":           func(l launched) float64 { return l.number(2) * l.number(3) * headSize * (8 + l.size) },
	"cross_entropy":                func(l launched) float64 { return 2 * float64(l.grid.X) * l.number(9) * l.size },
	"dropout_rows":                 func(l launched) float64 { return 2 * l.rows(2) * l.number(4) * l.size },
}

// A Chip has the rates that the model of a step's time uses, of one kind of GPU.
type Chip struct {
	Name      string  // part of the driver's name of the GPU
	Bandwidth float64 // bytes a second, of NVIDIA's data sheet (SXM)
	Rate      float64 // operations a second with 16-bit elements, dense, of NVIDIA's data sheet
	Rate8     float64 // the same with 8-bit elements; 0: there are none
	Rate32    float64 // the same with fp32 elements, without tensor cores
}

// Chips are the known ones; the first that fits counts.
var Chips = []Chip{
	{"H200", 4.8e12, 989e12, 1979e12, 67e12},
	{"H100", 3.35e12, 989e12, 1979e12, 67e12},
	{"A100", 2.039e12, 312e12, 0, 19.5e12},
}

// Chip returns the rates of the profile's GPU, by its name. ok is false for one that the
// model does not know.
func (p *Profile) Chip() (c Chip, ok bool) {
	for _, c := range Chips {
		if strings.Contains(p.Properties().Name, c.Name) {
			return c, true
		}
	}
	return c, false
}

// Shares of a data sheet's rates that the model expects.
const (
	memoryShare   = 0.77  // of the bandwidth: 45 ms for 36 passes of a layer of BERT-large on an H100, as this project's plan has it
	productShare  = 0.66  // of the rate: 82 % of the 790 TFLOP/s that cuBLASLt reaches on an H200 with random data
	forwardShare  = 0.285 // FlashAttention 2 on an H100, heads of 64, length 512: 282 TFLOP/s
	backwardShare = 0.198 // 215 TFLOP/s of both passes there, with 282 forward
)

// Expected returns the time that w takes by the model, or 0 if that is unknown: what takes
// longer, its bytes or its operations.
func (c Chip) Expected(w Work) time.Duration {
	share, rate := productShare, c.Rate
	switch {
	case w.Name == "flash_forward" || w.Name == "flash_local_forward":
		share = forwardShare
	case traffic[w.Name] != nil:
		share = backwardShare
	case w.Width == 1:
		rate = c.Rate8
	case w.Width == 4:
		rate = c.Rate32
	}
	if w.Operations > 0 && rate == 0 {
		return 0
	}
	seconds := w.Bytes / (memoryShare * c.Bandwidth)
	if w.Operations > 0 {
		seconds = max(seconds, w.Operations/(share*rate))
	}
	return time.Duration(seconds * float64(time.Second))
}
