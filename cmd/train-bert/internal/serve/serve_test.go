package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pretext/cmd/train-bert/internal/serve"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/cpu"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/predict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what must happen: nothing here takes a hundredth of it.
const patience = 30 * time.Second

var config = trainer.Config{VocabSize: 12, HiddenSize: 8, Layers: 1, AttentionHeads: 2, IntermediateSize: 16, Activation: trainer.GELUNew, MaxPositions: 24, Segments: 2,
	InitializerRange: 0.5, LayerNormEps: 1e-12}

func newPredictor(t testing.TB, h trainer.Heads) *predict.Predictor {
	t.Helper()
	v, err := tokenize.NewVocab([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "a", "mat", "."})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	p, err := predict.New(predict.Settings{Tokenizer: tok, Config: config, Heads: h, MaxSequences: 8})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A gate is a model whose computations wait to be let through.
type gate struct {
	trainer.Model
	waiting chan int // sequences of the batch that waits
	open    chan struct{}
}

// Forward implements trainer.Model.
func (g *gate) Forward(b *trainer.Batch, out *trainer.Outputs) (trainer.Sums, error) {
	if g.open != nil {
		g.waiting <- b.Sequences()
		<-g.open
	}
	return g.Model.Forward(b, out)
}

// A bench is a server on loopback over a model of random weights.
type bench struct {
	t      *testing.T
	url    string
	gate   *gate // nil open: nothing waits
	p      *predict.Predictor
	b      *serve.Batcher
	stop   context.CancelFunc
	ended  chan error
	client *http.Client
}

func newModel(t *testing.T, h trainer.Heads) trainer.Model {
	t.Helper()
	m, err := cpu.Backend{Threads: 1}.Open(config, h, trainer.Options{Tokens: 64, Sequences: 32, Masked: 64, Precision: trainer.Float32})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(config, h, 3)); err != nil {
		t.Fatal(err)
	}
	return m
}

func start(t *testing.T, h trainer.Heads, gated bool, change func(*serve.Options, *serve.Limits)) *bench {
	t.Helper()
	o, limits := serve.DefaultOptions(), serve.Limits{Tokens: 64, Masked: 64, Queue: 64, MaxWait: time.Millisecond}
	o.Timeout, o.ReadTimeout = patience, patience
	if change != nil {
		change(&o, &limits)
	}
	x := &bench{t: t, p: newPredictor(t, h), gate: &gate{Model: newModel(t, h)}, ended: make(chan error, 1), client: &http.Client{Transport: &http.Transport{}}}
	if gated {
		x.gate.waiting, x.gate.open = make(chan int, 100), make(chan struct{})
	}
	x.b = serve.NewBatcher(x.gate, h, limits)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x.url = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	x.stop = cancel
	server := serve.New(x.p, x.b, o)
	gone := make(chan struct{})
	go func() {
		x.ended <- server.Run(ctx, l)
		close(gone)
	}()
	t.Cleanup(func() {
		x.stop()
		x.client.CloseIdleConnections()
		x.b.Close()
		<-gone
	})
	return x
}

// An answer is what a request got.
type answer struct {
	code  int
	body  string
	retry string
	err   error
}

func (x *bench) post(path, body string) answer {
	r, err := x.client.Post(x.url+path, "application/json", strings.NewReader(body))
	return read(r, err)
}

func read(r *http.Response, err error) answer {
	if err != nil {
		return answer{err: err}
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return answer{r.StatusCode, strings.TrimSpace(string(b)), r.Header.Get("Retry-After"), err}
}

// later posts in a goroutine.
func (x *bench) later(path, body string) chan answer {
	c := make(chan answer, 1)
	go func() { c <- x.post(path, body) }()
	return c
}

func within[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal(what + " did not come")
	}
	return v
}

func (a answer) want(t *testing.T, code int, part string) {
	t.Helper()
	if a.err != nil || a.code != code || !strings.Contains(a.body, part) || !json.Valid([]byte(a.body)) {
		t.Errorf("got %d %s %v, want %d with %q", a.code, a.body, a.err, code, part)
	}
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what + " did not happen")
		}
	}
}

func TestManyClientsGetWhatEachWouldGetAlone(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 3}, false, nil)
	texts := []string{"the cat", "a mat sat on the cat .", "", "on on on", "cat . cat . cat . cat . cat ."}
	var group sync.WaitGroup
	for client := range 16 {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range 20 {
				text := texts[(client+i)%len(texts)]
				got := x.post("/v1/classify", fmt.Sprintf(`{"text": %q}`, text))
				if want := x.alone(text); got.code != http.StatusOK || !near(got.body, want) {
					t.Errorf("%q: got %+v, want %+v", text, got, want)
				}
			}
		}()
	}
	group.Wait()
}

// alone computes a classification with a model of its own.
func (x *bench) alone(text string) predict.Classification {
	job, err := x.p.Classify(text, "", false)
	if err != nil {
		x.t.Error(err)
		return predict.Classification{}
	}
	h := trainer.Heads{Labels: 3}
	m := newModel(x.t, h)
	defer m.Close()
	if _, err := (finetune.Forward{Model: m, Heads: h, Tokens: 64}).Each(context.Background(), job, job.Take); err != nil {
		x.t.Error(err)
	}
	return job.Result().(predict.Classification)
}

// near compares with the rounding that a batch of another shape may bring.
func near(body string, want predict.Classification) bool {
	var got predict.Classification
	if json.Unmarshal([]byte(body), &got) != nil || len(got.Classes) != len(want.Classes) {
		return false
	}
	for i, c := range want.Classes {
		if d := got.Classes[i].Probability - c.Probability; got.Classes[i].Label != c.Label || d > 1e-5 || d < -1e-5 {
			return false
		}
	}
	return true
}

func TestRequestsThatWaitAreComputedTogether(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, true, nil)
	answers := []chan answer{x.later("/v1/classify", `{"text": "the cat"}`)}
	within(t, x.gate.waiting, "the first batch")
	for range 5 {
		answers = append(answers, x.later("/v1/classify", `{"text": "the cat sat"}`))
	}
	eventually(t, "six requests waiting", func() bool { return x.b.Waiting() == 6 })
	x.gate.open <- struct{}{}
	if n := within(t, x.gate.waiting, "the second batch"); n != 5 {
		t.Errorf("a batch of %d sequences, want 5", n)
	}
	x.gate.open <- struct{}{}
	for _, c := range answers {
		within(t, c, "an answer").want(t, http.StatusOK, `"classes"`)
	}
}

func TestWhatDoesNotFitTheQueueIsRefused(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, true, func(_ *serve.Options, l *serve.Limits) { l.Queue = 3 })
	var answers []chan answer
	for range 3 {
		answers = append(answers, x.later("/v1/classify", `{"text": "the cat"}`))
	}
	eventually(t, "a full queue", func() bool { return x.b.Waiting() == 3 })
	refused := x.post("/v1/classify", `{"text": "the cat"}`)
	refused.want(t, http.StatusTooManyRequests, "too many requests are waiting")
	if refused.retry == "" {
		t.Error("no Retry-After")
	}
	close(x.gate.open)
	for _, c := range answers {
		within(t, c, "an answer").want(t, http.StatusOK, `"classes"`)
	}
	x.post("/v1/classify", `{"text": "the cat"}`).want(t, http.StatusOK, `"classes"`)
}

func TestWhatCannotBeAnsweredSaysWhy(t *testing.T) {
	x := start(t, trainer.Heads{MLM: true}, false, func(o *serve.Options, _ *serve.Limits) { o.MaxBody = 1000 })
	for _, c := range []struct {
		path, body string
		code       int
		part       string
	}{
		{"/v1/fill-mask", `{"text": "the [MASK]", "top_k": 2}`, 200, `{"position":2,"predictions":[{"token":`},
		{"/v1/fill-mask", `{"text": "the cat"}`, 400, "holds no [MASK]"},
		{"/v1/fill-mask", `{"text"`, 400, "not as described"},
		{"/v1/fill-mask", ``, 400, "not as described"},
		{"/v1/fill-mask", `{"text": "[MASK]` + strings.Repeat(" cat", 30) + `"}`, 413, "tokens"},
		{"/v1/fill-mask", strings.Repeat(" ", 1001), 413, "too large"},
		{"/v1/classify", `{"text": "a"}`, 404, "this model is for /v1/fill-mask"},
	} {
		x.post(c.path, c.body).want(t, c.code, c.part)
	}
	if a := x.post("/v1/nothing", "{}"); a.code != http.StatusNotFound {
		t.Errorf("got %+v", a)
	}
	if a := read(x.client.Get(x.url + "/v1/fill-mask")); a.code != http.StatusMethodNotAllowed {
		t.Errorf("got %+v", a)
	}
	read(x.client.Get(x.url+"/healthz")).want(t, http.StatusOK, `"task":"fill-mask"`)
	metrics := read(x.client.Get(x.url + "/metrics"))
	for _, part := range []string{`train_bert_requests_total{endpoint="fill-mask",code="200"} 1`, `code="413"} 2`, "train_bert_sequences_total 1\n", "train_bert_waiting 0"} {
		if !strings.Contains(metrics.body, part) {
			t.Errorf("no %q in\n%s", part, metrics.body)
		}
	}
}

func TestARequestThatWaitsTooLongIsGivenUp(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, true, func(o *serve.Options, _ *serve.Limits) { o.Timeout = 1500 * time.Millisecond })
	first := x.later("/v1/classify", `{"text": "the cat"}`)
	within(t, x.gate.waiting, "the first batch")
	second := x.later("/v1/classify", `{"text": "the cat"}`)
	within(t, first, "the first answer").want(t, http.StatusServiceUnavailable, "deadline")
	within(t, second, "the second answer").want(t, http.StatusServiceUnavailable, "deadline")
	close(x.gate.open)
	eventually(t, "an empty queue", func() bool { return x.b.Waiting() == 0 })
	if n := len(x.gate.waiting); n != 0 {
		t.Errorf("%d batches were computed for nobody", n)
	}
}

func TestWhoHasGoneIsNotComputedFor(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, true, nil)
	first := x.later("/v1/classify", `{"text": "the cat"}`)
	within(t, x.gate.waiting, "the first batch")
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url+"/v1/classify", strings.NewReader(`{"text": "a mat"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	gone := make(chan answer, 1)
	go func() { gone <- read(x.client.Do(r)) }()
	eventually(t, "two requests", func() bool { return x.b.Waiting() == 2 })
	cancel()
	if a := within(t, gone, "the end of the request"); !errors.Is(a.err, context.Canceled) {
		t.Errorf("got %+v", a)
	}
	// The server learns of it when it reads from the connection.
	time.Sleep(100 * time.Millisecond)
	close(x.gate.open)
	within(t, first, "the first answer").want(t, http.StatusOK, `"classes"`)
	eventually(t, "an empty queue", func() bool { return x.b.Waiting() == 0 })
}

// A client that sends a byte now and then is cut off, and holds up nobody.
func TestASlowClientIsCutOff(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, false, func(o *serve.Options, _ *serve.Limits) { o.ReadTimeout = 500 * time.Millisecond })
	for _, head := range []string{"POST /v1/classify HTTP/1.1\r\nHo", "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"te"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(x.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		x.post("/v1/classify", `{"text": "the cat"}`).want(t, http.StatusOK, `"classes"`)
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(bufio.NewReader(c))
		if err != nil || strings.Contains(string(got), " 200 ") {
			t.Errorf("got %q, %v, want the end of the connection", got, err)
		}
	}
}

// A request has five seconds to arrive, not as long as its answer may take.
func TestARequestHasFiveSecondsToArrive(t *testing.T) {
	if o := serve.DefaultOptions(); o.ReadTimeout != 5*time.Second || o.Timeout <= o.ReadTimeout {
		t.Errorf("%v to arrive, %v to be answered", o.ReadTimeout, o.Timeout)
	}
}

// The time that a request has to arrive does not run while it is computed.
func TestAComputationMayTakeLongerThanARequestToArrive(t *testing.T) {
	const arrival = 300 * time.Millisecond
	x := start(t, trainer.Heads{Labels: 2}, true, func(o *serve.Options, _ *serve.Limits) { o.ReadTimeout = arrival })
	answer := x.later("/v1/classify", `{"text": "the cat"}`)
	within(t, x.gate.waiting, "the batch")
	time.Sleep(3 * arrival)
	close(x.gate.open)
	within(t, answer, "the answer").want(t, http.StatusOK, `"classes"`)
}

func TestAServerThatStopsAnswersWhatIsUnderWay(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, true, nil)
	first := x.later("/v1/classify", `{"text": "the cat"}`)
	within(t, x.gate.waiting, "the first batch")
	second := x.later("/v1/classify", `{"text": "a mat"}`)
	eventually(t, "two requests", func() bool { return x.b.Waiting() == 2 })
	x.stop()
	eventually(t, "the end of listening", func() bool {
		a := x.post("/v1/classify", `{"text": "the cat"}`)
		return a.err != nil || a.code == http.StatusServiceUnavailable
	})
	select {
	case err := <-x.ended:
		t.Fatalf("ended with requests under way: %v", err)
	default:
	}
	close(x.gate.open)
	within(t, first, "the first answer").want(t, http.StatusOK, `"classes"`)
	within(t, second, "the second answer").want(t, http.StatusOK, `"classes"`)
	if err := within(t, x.ended, "the end"); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAServerDoesNotWaitForEver(t *testing.T) {
	x := start(t, trainer.Heads{Labels: 2}, true, func(o *serve.Options, _ *serve.Limits) { o.DrainTimeout = 50 * time.Millisecond })
	first := x.later("/v1/classify", `{"text": "the cat"}`)
	within(t, x.gate.waiting, "the first batch")
	x.stop()
	if err := within(t, x.ended, "the end"); err == nil || !strings.Contains(err.Error(), "still in progress") {
		t.Errorf("got %v", err)
	}
	if a := within(t, first, "the end of the request"); a.err == nil {
		t.Errorf("got %+v, want a broken connection", a)
	}
	close(x.gate.open)
}
