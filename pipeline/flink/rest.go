//go:build cluster

package flink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pretext/internal/failure"
	"pretext/internal/redact"
)

// Final states of a Flink job.
const (
	finished = "FINISHED"
	failed   = "FAILED"
	canceled = "CANCELED"
)

func terminal(state string) bool {
	return slices.Contains([]string{finished, failed, canceled}, state)
}

// errUnknownJob reports that the JobManager has no such job.
var errUnknownJob = errors.New("unknown job")

// A rest is a client of the JobManager's REST interface.
type rest struct {
	base *url.URL
	http *http.Client
}

func newREST(base string) (*rest, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, failure.Usagef("--flink-rest: not a URL")
	}
	return &rest{u, &http.Client{Timeout: 10 * time.Second}}, nil
}

// maxAnswer is the maximum size of an answer in bytes.
const maxAnswer = 64 << 20

// call sends a request and decodes the JSON answer into to, unless to is nil.
func (r *rest) call(ctx context.Context, method, path string, query url.Values, to any) error {
	u := r.base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return err
	}
	answer, err := r.http.Do(req)
	if err != nil {
		var inner *url.Error // without the text of url.Error, which would repeat the URL
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return r.unreached(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return r.unreached(err)
	case answer.StatusCode == http.StatusNotFound, answer.StatusCode/100 != 2 && bytes.Contains(body, []byte("FlinkJobNotFoundException")): // the handler for a job's status returns 500
		return errUnknownJob
	case answer.StatusCode/100 != 2:
		return r.unreached(fmt.Errorf("%s %s: %s", method, path, answer.Status))
	case to == nil:
		return nil
	}
	if err := json.Unmarshal(body, to); err != nil {
		return r.unreached(fmt.Errorf("%s %s: not the answer of Flink: %w", method, path, err))
	}
	return nil
}

// errREST is matched by connection errors of Flink's REST interface.
var errREST = failure.Network("Flink")

func (r *rest) unreached(err error) error {
	return fmt.Errorf("%w at %s (--flink-rest): %w", errREST, redact.URL(r.base.String()), err)
}

// A restJob is one job in the JobManager's list.
type restJob struct {
	ID    string `json:"jid"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// jobs returns the jobs with the given name, the latest first.
func (r *rest) jobs(ctx context.Context, name string) ([]restJob, error) {
	var list struct {
		Jobs []struct {
			restJob
			Start int64 `json:"start-time"`
		} `json:"jobs"`
	}
	if err := r.call(ctx, http.MethodGet, "jobs/overview", nil, &list); err != nil {
		if errors.Is(err, errUnknownJob) {
			err = r.unreached(errors.New("no REST interface of Flink at this address: 404"))
		}
		return nil, err
	}
	slices.SortFunc(list.Jobs, func(a, b struct {
		restJob
		Start int64 `json:"start-time"`
	}) int {
		return int(b.Start - a.Start)
	})
	var jobs []restJob
	for _, j := range list.Jobs {
		if strings.HasPrefix(j.Name, name+"-") || j.Name == name {
			jobs = append(jobs, j.restJob)
		}
	}
	return jobs, nil
}

// state returns the state of a job, or [errUnknownJob].
func (r *rest) state(ctx context.Context, id string) (string, error) {
	var answer struct{ Status string }
	err := r.call(ctx, http.MethodGet, "jobs/"+id+"/status", nil, &answer)
	return answer.Status, err
}

// A restException is a failure of a job or of one of its attempts.
type restException struct {
	At         int64  `json:"timestamp"`
	Stacktrace string `json:"stacktrace"`
	Concurrent []struct {
		Stacktrace string `json:"stacktrace"`
	} `json:"concurrentExceptions"`
}

// exceptions returns the failures of a job, the latest first.
func (r *rest) exceptions(ctx context.Context, id string) ([]restException, error) {
	var answer struct {
		Root    string `json:"root-exception"`
		At      int64  `json:"timestamp"`
		History struct {
			Entries []restException `json:"entries"`
		} `json:"exceptionHistory"`
	}
	if err := r.call(ctx, http.MethodGet, "jobs/"+id+"/exceptions", nil, &answer); err != nil {
		return nil, err
	}
	if len(answer.History.Entries) == 0 && answer.Root != "" {
		return []restException{{At: answer.At, Stacktrace: answer.Root}}, nil
	}
	return answer.History.Entries, nil
}

// running returns the number of subtasks that have not ended, of the steps of a job whose
// name contains step.
func (r *rest) running(ctx context.Context, id, step string) (n int, err error) {
	var answer struct {
		Vertices []struct {
			Name  string         `json:"name"`
			Tasks map[string]int `json:"tasks"` // number of subtasks by state
		} `json:"vertices"`
	}
	err = r.call(ctx, http.MethodGet, "jobs/"+id, nil, &answer)
	for _, v := range answer.Vertices {
		if strings.Contains(v.Name, step) {
			for state, count := range v.Tasks {
				if state != finished {
					n += count
				}
			}
		}
	}
	return n, err
}

// cancel asks Flink to cancel a job.
func (r *rest) cancel(ctx context.Context, id string) error {
	return r.call(ctx, http.MethodPatch, "jobs/"+id, url.Values{"mode": {"cancel"}}, nil)
}

// settings returns the JobManager's configuration.
func (r *rest) settings(ctx context.Context) (map[string]string, error) {
	var list []struct{ Key, Value string }
	if err := r.call(ctx, http.MethodGet, "jobmanager/config", nil, &list); err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, e := range list {
		settings[e.Key] = e.Value
	}
	return settings, nil
}

// slots returns the number of task slots of the cluster.
func (r *rest) slots(ctx context.Context) (int, error) {
	var answer struct {
		Slots int `json:"slots-total"`
	}
	err := r.call(ctx, http.MethodGet, "overview", nil, &answer)
	return answer.Slots, err
}
