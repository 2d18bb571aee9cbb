//go:build cluster

package flink

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/protox"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"

	"pretext/internal/failure"
)

// errServer is matched by connection errors of the job server.
var errServer = failure.Network("Beam's job server")

// environment returns Beam's description of how the workers of a job are started.
func (c Cluster) environment(ctx context.Context, job string) (*pipepb.Environment, error) {
	variables := map[string]string{workerVariable: "1", logsVariable: c.Logs, jobVariable: job, restVariable: c.publicREST()}
	key, err := c.Key()
	if err != nil {
		return nil, err
	}
	if key != nil {
		variables[tokenVariable] = token(key, job, c.publicREST(), time.Now().Add(tokenLife))
	}
	var urn string
	var payload []byte
	if c.Pool != "" {
		urn = graphx.URNEnvExternal
		payload = protox.MustEncode(&pipepb.ExternalPayload{Endpoint: &pipepb.ApiServiceDescriptor{Url: c.Pool}, Params: variables})
	} else {
		program := c.Program
		if program == "" {
			if program, err = os.Executable(); err != nil {
				return nil, fmt.Errorf("path of this program: %w", err)
			}
		}
		urn = graphx.URNEnvProcess
		payload = protox.MustEncode(&pipepb.ProcessPayload{Command: program, Env: variables})
	}
	env, err := graphx.CreateEnvironment(ctx, graphx.URNEnvDocker, func(context.Context) string { return "" })
	if err != nil {
		return nil, err
	}
	env.Urn, env.Payload = urn, payload
	return env, nil
}

// publicREST returns the URL of the REST interface without a password, for the workers'
// environment variables.
func (c Cluster) publicREST() string {
	u, err := url.Parse(c.REST)
	if err != nil || u.User != nil {
		return ""
	}
	return c.REST
}

// model returns the pipeline in Beam's portable form.
func (c Cluster) model(ctx context.Context, p *beam.Pipeline, name string) (*pipepb.Pipeline, error) {
	edges, _, err := p.Build()
	if err != nil {
		return nil, err
	}
	env, err := c.environment(ctx, name)
	if err != nil {
		return nil, err
	}
	return graphx.Marshal(edges, &graphx.Options{Environment: env, PipelineResourceHints: jobopts.GetPipelineResourceHints()})
}

// An outcome ends the job server's messages about an accepted job: a failure of the job,
// or a lost connection.
type outcome struct {
	failed string // the server's message, if the job failed
	lost   error  // the connection's error, if the connection was lost
}

// submit sends a pipeline to the job server, which translates it and submits it to Flink.
// If that fails or the connection is lost, the channel receives one outcome.
func (c Cluster) submit(ctx context.Context, p *beam.Pipeline, name string) (<-chan outcome, error) {
	model, err := c.model(ctx, p, name)
	if err != nil {
		return nil, err
	}
	// Beam sends a program to the workers. pretext's workers do not need it, so this is
	// empty.
	artifact, err := os.CreateTemp("", "pretext-no-program-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(artifact.Name())
	defer artifact.Close()
	if _, err := artifact.WriteString("The workers' program is on the workers.\n"); err != nil {
		return nil, err
	}
	if err := runnerlib.UpdateGoEnvironmentWorker(artifact.Name(), model); err != nil {
		return nil, err
	}
	conn, err := grpcx.Dial(ctx, c.Endpoint, dialing)
	if err != nil {
		return nil, c.unreached(err)
	}
	client := jobpb.NewJobServiceClient(conn)
	id, err := c.prepare(ctx, client, model, name, artifact.Name())
	if err != nil {
		conn.Close()
		return nil, err
	}
	told := make(chan outcome, 1)
	go func() {
		defer conn.Close()
		told <- listen(context.WithoutCancel(ctx), client, id)
	}()
	return told, nil
}

// prepare prepares and starts a job at the job server, and returns the server's job id.
func (c Cluster) prepare(ctx context.Context, client jobpb.JobServiceClient, model *pipepb.Pipeline, name, artifact string) (string, error) {
	prepared, artifacts, token, err := runnerlib.Prepare(ctx, client, model, &runnerlib.JobOptions{Name: name, Worker: artifact, Parallelism: c.Parallelism})
	if err != nil {
		return "", c.unreached(err)
	}
	token, err = runnerlib.Stage(ctx, prepared, artifacts, artifact, token)
	if err != nil {
		return "", c.unreached(err)
	}
	if err := ctx.Err(); err != nil {
		return "", context.Cause(ctx)
	}
	id, err := runnerlib.Submit(ctx, client, prepared, token)
	if err != nil {
		return "", c.unreached(err)
	}
	return id, nil
}

func (c Cluster) unreached(err error) error {
	return fmt.Errorf("%w at %s (--endpoint): %w", errServer, c.Endpoint, err)
}

// listen reads the job server's messages until the job ends or the connection is lost.
func listen(ctx context.Context, client jobpb.JobServiceClient, id string) outcome {
	stream, err := client.GetMessageStream(ctx, &jobpb.JobMessagesRequest{JobId: id})
	if err != nil {
		return outcome{lost: err}
	}
	var last string
	for {
		m, err := stream.Recv()
		if err != nil {
			return outcome{lost: err}
		}
		if text := m.GetMessageResponse(); text.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_ERROR {
			last = text.GetMessageText()
		}
		if m.GetStateResponse().GetState() == jobpb.JobState_FAILED {
			// The message may arrive after the state.
			for range 2 {
				if m, err := stream.Recv(); err == nil && m.GetMessageResponse() != nil {
					last = m.GetMessageResponse().GetMessageText()
				}
			}
			return outcome{failed: last}
		}
	}
}
