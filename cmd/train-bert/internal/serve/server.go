package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"pretext/trainer/finetune/predict"
)

// Options of a server. Start from [DefaultOptions].
type Options struct {
	MaxBody      int64         // maximum bytes of a request
	MaxConns     int           // maximum open connections; more wait to be accepted
	ReadTimeout  time.Duration // from the first to the last byte of a request
	Timeout      time.Duration // from the first byte of a request to its answer
	DrainTimeout time.Duration // for requests in progress when the server stops
	Defaults     predict.Defaults
}

// DefaultOptions returns limits for a server on one machine.
func DefaultOptions() Options {
	return Options{
		MaxBody: 256 << 10, MaxConns: 512, ReadTimeout: 5 * time.Second, Timeout: 30 * time.Second, DrainTimeout: 30 * time.Second, Defaults: predict.Defaults{TopK: 5},
	}
}

// A Server answers requests with a model.
type Server struct {
	p      *predict.Predictor
	b      *Batcher
	o      Options
	counts counts
}

// New returns a server. The caller closes the batcher after Run.
func New(p *predict.Predictor, b *Batcher, o Options) *Server { return &Server{p: p, b: b, o: o} }

// Run serves on l until ctx is done, then answers the requests in progress and returns
// nil. It returns an error if serving failed, or if requests were still in progress
// after the DrainTimeout. On a loopback address it rejects requests whose Host is not
// localhost or a loopback address.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	handler := s.Handler()
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		handler = localOnly(handler)
	}
	h := &http.Server{
		Handler: handler, ReadTimeout: min(s.o.ReadTimeout, s.o.Timeout),
		WriteTimeout: 2 * s.o.Timeout, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: quiet(),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(netutil.LimitListener(l, s.o.MaxConns)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.DrainTimeout)
	defer cancel()
	err := h.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop: requests were still in progress after %s", s.o.DrainTimeout), h.Close())
	}
	<-failed
	return err
}

// Handler returns the endpoints.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/fill-mask", s.endpoint(predict.TaskFillMask))
	mux.Handle("POST /v1/answer", s.endpoint(predict.TaskAnswer))
	mux.Handle("POST /v1/classify", s.endpoint(predict.TaskClassify))
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.metrics)
	return noPages(mux)
}

// endpoint handles the requests of a task.
func (s *Server) endpoint(task predict.Task) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		result, err := s.do(w, r, task)
		code := statusOf(err)
		if err != nil {
			if code == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "1")
			}
			result = map[string]string{"error": err.Error()}
		}
		s.counts.add(string(task), code, time.Since(start))
		reply(w, code, result)
	})
}

func (s *Server) do(w http.ResponseWriter, r *http.Request, task predict.Task) (any, error) {
	if have := s.p.Task(); have != task {
		return nil, &taskError{have, task}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.o.MaxBody))
	if err != nil {
		return nil, err
	}
	// The request has been read. Remove its read deadline: net/http continues to read in
	// order to notice a disconnect, and would take a timeout for a disconnect.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	request, err := predict.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	job, err := s.p.Job(request, s.o.Defaults)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
	defer cancel()
	if err := s.b.Do(ctx, job); err != nil {
		return nil, err
	}
	return job.Result(), nil
}

// A taskError is the error for a request whose endpoint belongs to a task that the model
// was not trained for.
type taskError struct{ have, want predict.Task }

func (e *taskError) Error() string {
	return fmt.Sprintf("this model is for /v1/%s, not for /v1/%s", e.have, e.want)
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	var input *predict.InputError
	var size *http.MaxBytesError
	var task *taskError
	var timeout net.Error
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &size):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &input):
		if input.TooLong {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusBadRequest
	case errors.As(err, &task):
		return http.StatusNotFound
	case errors.Is(err, errBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, ErrStopped), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	case errors.As(err, &timeout) && timeout.Timeout():
		return http.StatusRequestTimeout
	case errors.Is(err, io.ErrUnexpectedEOF):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func reply(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error": "the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(b, '\n')) // an error means that the client disconnected
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"status": "ok", "task": string(s.p.Task())})
}
