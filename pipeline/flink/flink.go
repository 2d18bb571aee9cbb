// Package flink runs Beam jobs on a Flink cluster.
//
// A [Cluster] submits a job to Beam's job server. Afterwards it follows the job only
// through the REST interface of Flink's JobManager, because the job server is not
// reliable: it reports jobs as cancelled that still run, and when it is lost, the job
// continues without it. The name of a job depends only on what the job does, so a later
// run finds the job even if the process that submitted it has died.
//
// The workers run this same program. There are two ways to start them:
//
//   - PROCESS: each TaskManager starts the program at a path of its machine.
//   - EXTERNAL: each TaskManager asks a [Pool] on its machine, which starts the program.
//
// Both start [Work], once for each job and TaskManager. A worker's error reaches the
// submitter as a [failure.Report] inside the text of the failure that Flink stores.
//
// Clusters are supported only with the build tag cluster, since Beam's client and workers
// for clusters need 150 packages that a run on one machine does not. This file has no
// tag; it describes a cluster. Without the tag, slim.go replaces the rest by errors.
package flink

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/redact"
)

// A Cluster describes a Flink cluster and how its workers are started.
type Cluster struct {
	Endpoint    string // HOST:PORT of Beam's job server
	REST        string // URL of the JobManager's REST interface
	Parallelism int    // number of Flink's parallel subtasks, at least 1
	Program     string // path of this program on every TaskManager; "" for the path of this process
	Pool        string // HOST:PORT at which a TaskManager reaches its worker pool; "" for PROCESS
	Logs        string // directory on the workers for their logs; "" for the temporary directory
	Secret      string // file with the secret of the worker pools; "" for pools without a secret
}

// Validate returns a usage error if this program does not support clusters or if the
// description of the cluster is incomplete. Errors name the command-line flags.
func (c Cluster) Validate() error {
	if err := Supported(); err != nil {
		return err
	}
	if c.Endpoint == "" {
		return failure.Usagef("--runner flink: give --endpoint HOST:PORT, the address of Beam's job server")
	}
	if err := checkAddress(c.Endpoint); err != nil {
		return failure.Usagef("--endpoint %q: %w", redact.Address(c.Endpoint), err)
	}
	if c.REST == "" {
		return failure.Usagef("--runner flink: give --flink-rest URL, the REST interface of Flink's JobManager, such as http://jobmanager:8081")
	}
	if u, err := url.Parse(c.REST); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return failure.Usagef("--flink-rest: not a URL such as http://jobmanager:8081")
	}
	if c.Parallelism < 1 {
		return failure.Usagef("--parallelism %d: must be at least 1", c.Parallelism)
	}
	if c.Pool != "" && c.Program != "" {
		return failure.Usagef("--worker-pool and --worker-program: give one of them: the pool starts its own program")
	}
	if c.Secret != "" && c.Pool == "" {
		return failure.Usagef("--worker-secret: needs --worker-pool: a program that a TaskManager starts itself asks for no secret")
	}
	if c.Pool != "" {
		if err := checkAddress(c.Pool); err != nil {
			return failure.Usagef("--worker-pool %q: %w", redact.Address(c.Pool), err)
		}
	}
	_, err := c.Key()
	return err
}

// checkAddress returns an error unless text has the form HOST:PORT.
func checkAddress(text string) error {
	if strings.Contains(text, "@") {
		return errors.New("write HOST:PORT, without a user")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return errors.New("write HOST:PORT")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("port %q: must be a number from 1 to 65535", port)
	}
	return nil
}

// JobName returns the job name for a stage. It depends on the stage, the fingerprint of
// its plan and its directory. It consists of lower-case letters and digits, because job
// servers replace all other characters.
func JobName(stage, fingerprint, out string) string {
	where := sha256.Sum256([]byte(out))
	return javaName("pretext" + stage + fingerprint[:min(16, len(fingerprint))] + hex.EncodeToString(where[:4]))
}

// javaName returns the name that a Java job server gives to a job. The server then
// appends a hyphen, user, date and random number, which are not included.
func javaName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '0'
	}, strings.ToLower(name))
}

// A Job is a Beam job to submit to Flink.
type Job struct {
	Name string            // as [JobName] returns it
	Note func(text string) // receives messages for the user; may be nil
	// Done reports whether all tasks of the job are done. If it does, and subtasks of the
	// step named Step are running for long afterwards, their workers are stopped or lost.
	// [Cluster.Run] then cancels the job and returns [ErrHeld]. Done may be nil.
	Done func() bool
	Step string
}

// ErrHeld is returned for a job whose tasks are all done, but that a worker kept from
// ending.
var ErrHeld = errors.New("a worker does not answer, but all tasks are done")

// Environment variables of worker processes. The first one makes a process call
// [Work], because a TaskManager starts the program with Beam's flags.
const (
	workerVariable = "PRETEXT_WORKER"
	logsVariable   = "PRETEXT_WORKER_LOGS"
	jobVariable    = "PRETEXT_WORKER_JOB"    // name of the job
	restVariable   = "PRETEXT_WORKER_REST"   // URL of Flink's REST interface, as the submitter reaches it
	tokenVariable  = "PRETEXT_WORKER_TOKEN"  // the job's token, see [token]; for the pool only, not passed on to workers
	secretVariable = "PRETEXT_WORKER_SECRET" // path of the file with the pool's secret
	tellVariable   = "PRETEXT_WORKER_TELL"   // number of the file to which the worker writes its [Activity]
)

// A Process is what [Work] needs of the worker process.
type Process struct {
	Stop     func()          // ends the job's tasks in this process and waits for them
	Activity func() Activity // returns what the process has done and does
}

// An Activity is what a worker process has done and does. A worker of a pool tells its pool
// every second.
type Activity struct {
	Tasks   int64   `json:"tasks"`   // finished, or found finished
	Running int     `json:"running"` // tasks
	Oldest  float64 `json:"oldest"`  // seconds for which the oldest running task has run
	Bytes   int64   `json:"bytes"`   // of progress
	Retries int64   `json:"retries"` // of requests to object stores
	Read    int64   `json:"read"`    // bytes from object stores
	Written int64   `json:"written"` // bytes to object stores
	CPU     float64 `json:"cpu"`     // seconds
}

// IsWorker reports whether this process was started as a worker. If so, it must call
// [Work] before anything else.
func IsWorker() bool { return os.Getenv(workerVariable) != "" }

// ErrUnknown is matched by errors that leave open whether the job is still running.
var ErrUnknown = failure.Network("the job may still run")
