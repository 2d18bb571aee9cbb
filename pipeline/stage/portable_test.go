package stage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"pretext/pipeline/flink"
)

// Portable is a runner of these tests. It runs a job from the message that a cluster
// receives, as its workers do: DoFns are decoded from JSON, and every element is
// encoded and decoded between two steps. A step has two bundles at the same time.
const Portable = "portable"

func init() {
	inProcess = append(inProcess, Portable)
	beam.RegisterRunner(Portable, runPortable)
}

func runPortable(ctx context.Context, p *beam.Pipeline) (beam.PipelineResult, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	env, err := graphx.CreateEnvironment(ctx, graphx.URNEnvDocker, func(context.Context) string { return "" })
	if err != nil {
		return nil, err
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: env})
	if err != nil {
		return nil, err
	}
	sent, err := proto.Marshal(model)
	if err != nil {
		return nil, err
	}
	if flink.IsWorker() {
		jobs.Clear() // a worker has the message alone
	}
	r := &portable{model: new(pipepb.Pipeline), elements: map[string][][]byte{}}
	if err := proto.Unmarshal(sent, r.model); err != nil {
		return nil, err
	}
	return nil, r.run(ctx)
}

// A portable is a job of [Portable].
type portable struct {
	model    *pipepb.Pipeline
	elements map[string][][]byte // of collections that are complete, encoded with their windows
}

// run runs the steps, each when its input is complete.
func (r *portable) run(ctx context.Context) error {
	waiting := slices.Clone(r.model.GetRootTransformIds())
	for len(waiting) > 0 {
		i := slices.IndexFunc(waiting, func(id string) bool {
			_, ready := r.elements[only(r.transform(id).GetInputs())]
			return ready || len(r.transform(id).GetInputs()) == 0
		})
		if i < 0 {
			return fmt.Errorf("steps without input: %v", waiting)
		}
		id := waiting[i]
		waiting = slices.Delete(waiting, i, i+1)
		t := r.transform(id)
		switch urn := t.GetSpec().GetUrn(); {
		case urn != graphx.URNReshuffle && len(t.GetSubtransforms()) > 0:
			waiting = append(waiting, t.GetSubtransforms()...)
		default:
			out, err := r.step(ctx, id, t)
			if err != nil {
				return fmt.Errorf("step %s: %w", t.GetUniqueName(), err)
			}
			if name := only(t.GetOutputs()); name != "" {
				r.elements[name] = out
			}
		}
	}
	return nil
}

func (r *portable) transform(id string) *pipepb.PTransform {
	return r.model.GetComponents().GetTransforms()[id]
}

// only returns the one value of a step's inputs or outputs, "" without any.
func only(ports map[string]string) (collection string) {
	for _, collection = range ports {
	}
	return collection
}

// step returns the output of a step.
func (r *portable) step(ctx context.Context, id string, t *pipepb.PTransform) ([][]byte, error) {
	in := r.elements[only(t.GetInputs())]
	switch t.GetSpec().GetUrn() {
	case graphx.URNImpulse:
		b := header()
		return [][]byte{append(b, 0)}, nil // an empty string of bytes
	case graphx.URNReshuffle:
		return in, nil // a runner may: elements have no order
	case graphx.URNGBK:
		return r.group(in, only(t.GetInputs()))
	case graphx.URNParDo:
		return r.bundles(ctx, id, in)
	}
	return nil, fmt.Errorf("%s is unknown", t.GetSpec().GetUrn())
}

// header returns the encoded head of an element: of the global window.
func header() []byte {
	var b bytes.Buffer
	w := exec.MakeWindowEncoder(coder.NewGlobalWindow())
	if err := exec.EncodeWindowedValueHeader(w, window.SingleGlobalWindow, mtime.ZeroTimestamp, typex.NoFiringPane(), &b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// coder returns the coder of a collection's elements.
func (r *portable) coder(collection string) (*coder.Coder, error) {
	c := r.model.GetComponents()
	return graphx.NewCoderUnmarshaller(c.GetCoders()).Coder(c.GetPcollections()[collection].GetCoderId())
}

// group groups encoded pairs by the bytes of their keys.
func (r *portable) group(pairs [][]byte, collection string) ([][]byte, error) {
	c, err := r.coder(collection)
	if err != nil {
		return nil, err
	}
	dec := exec.MakeElementDecoder(c.Components[0])
	values, keys := map[string][][]byte{}, []string{}
	for _, pair := range pairs {
		rest := bytes.NewReader(pair[len(header()):])
		before := rest.Len()
		if _, err := dec.Decode(rest); err != nil {
			return nil, err
		}
		body := pair[len(header()):]
		key := string(body[:before-rest.Len()])
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		values[key] = append(values[key], body[len(key):])
	}
	var groups [][]byte
	for _, key := range keys {
		b := append(header(), key...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(values[key])))
		groups = append(groups, append(b, slices.Concat(values[key]...)...))
	}
	return groups, nil
}

// bundles runs a DoFn on elements, each half in a bundle.
func (r *portable) bundles(ctx context.Context, id string, in [][]byte) ([][]byte, error) {
	half := (len(in) + 1) / 2
	group, ctx := errgroup.WithContext(ctx)
	outs := make([][]byte, 2)
	for i, part := range [][][]byte{in[:half], in[half:]} {
		group.Go(func() (err error) {
			outs[i], err = r.bundle(ctx, id, slices.Concat(part...))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return r.split(slices.Concat(outs...), only(r.transform(id).GetOutputs()))
}

// split cuts encoded elements of a collection apart.
func (r *portable) split(b []byte, collection string) (elements [][]byte, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	c, err := r.coder(collection)
	if err != nil {
		return nil, err
	}
	dec := exec.MakeElementDecoder(c)
	for len(b) > 0 {
		rest := bytes.NewReader(b[len(header()):])
		if _, err := dec.Decode(rest); err != nil {
			return nil, err
		}
		n := len(b) - rest.Len()
		elements, b = append(elements, b[:n]), b[n:]
	}
	return elements, nil
}

// bundle runs a DoFn on a string of elements.
func (r *portable) bundle(ctx context.Context, id string, in []byte) ([]byte, error) {
	t, c := r.transform(id), r.model.GetComponents()
	desc := &fnpb.ProcessBundleDescriptor{
		Id: id, Transforms: map[string]*pipepb.PTransform{id: t}, Coders: map[string]*pipepb.Coder{},
		Pcollections: c.GetPcollections(), WindowingStrategies: c.GetWindowingStrategies(), Environments: c.GetEnvironments(),
	}
	for name, coder := range c.GetCoders() {
		desc.Coders[name] = coder
	}
	port := func(urn, collection string) *pipepb.PTransform {
		p := c.GetPcollections()[collection]
		windowed := "windowed " + collection
		desc.Coders[windowed] = &pipepb.Coder{Spec: &pipepb.FunctionSpec{Urn: "beam:coder:windowed_value:v1"},
			ComponentCoderIds: []string{p.GetCoderId(), c.GetWindowingStrategies()[p.GetWindowingStrategyId()].GetWindowCoderId()}}
		payload, err := proto.Marshal(&fnpb.RemoteGrpcPort{CoderId: windowed})
		if err != nil {
			panic(err)
		}
		return &pipepb.PTransform{UniqueName: urn + collection, Spec: &pipepb.FunctionSpec{Urn: urn, Payload: payload}}
	}
	source := port("beam:runner:source:v1", only(t.GetInputs()))
	source.Outputs = map[string]string{"out": only(t.GetInputs())}
	desc.Transforms["source"] = source
	for name, collection := range t.GetOutputs() {
		sink := port("beam:runner:sink:v1", collection)
		sink.Inputs = map[string]string{"in": collection}
		desc.Transforms["sink "+name] = sink
	}
	plan, err := exec.UnmarshalPlan(desc, nil)
	if err != nil {
		return nil, err
	}
	defer plan.Down(context.WithoutCancel(ctx))
	data := &memory{in: in}
	if err := plan.Execute(ctx, id, exec.DataContext{Data: data}); err != nil {
		return nil, errors.New(err.Error()) // from a worker it arrives as text
	}
	return data.out.Bytes(), nil
}

// memory is the input and output of a bundle.
type memory struct {
	in  []byte
	out bytes.Buffer
}

func (m *memory) OpenElementChan(_ context.Context, id exec.StreamID, _ []string) (<-chan exec.Elements, error) {
	c := make(chan exec.Elements, 1)
	c <- exec.Elements{Data: m.in, PtransformID: id.PtransformID}
	close(c)
	return c, nil
}

func (m *memory) OpenWrite(context.Context, exec.StreamID) (io.WriteCloser, error) {
	return nopCloser{&m.out}, nil
}

func (m *memory) OpenTimerWrite(context.Context, exec.StreamID, string) (io.WriteCloser, error) {
	return nil, errors.New("no step has timers")
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
