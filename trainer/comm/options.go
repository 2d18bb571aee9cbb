package comm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"pretext/internal/failure"
	"pretext/internal/trust"
)

// Options describe this process as a rank of a run. Start from [FromEnv].
type Options struct {
	Rank       int    // from 0
	Ranks      int    // at least 1
	LocalRank  int    // number of this rank on its machine, from 0: selects a GPU
	LocalRanks int    // ranks on this machine; 0: unknown
	Host       string // name or IP address of rank 0's machine
	Port       int    // TCP port on which rank 0 listens

	// Local means that all ranks run on this machine: they listen on loopback
	// addresses.
	Local bool

	// Secret is the key with which ranks authenticate each other. It must be the same
	// on all ranks and have at least [minSecret] bytes. Without a secret, Host must be
	// a loopback address, and all ranks must be processes of one user.
	Secret []byte

	// Fingerprints are values by name that must be the same on all ranks: a
	// hash of the data, the seed, options. A name is used in error messages.
	Fingerprints map[string]string

	Wait    time.Duration // maximum time until all ranks have started; 0: five minutes
	Silence time.Duration // a rank that sends nothing for this time is lost; 0: twelve seconds
	Log     io.Writer     // receives log lines, each in one Write; nil: no log
}

// minSecret is the minimum length of a secret in bytes.
const minSecret = trust.MinSecret

// Environment variables that [FromEnv] reads in addition to torchrun's.
const (
	SecretVariable     = "PRETEXT_BERT_SECRET"      // the secret itself
	secretFileVariable = "PRETEXT_BERT_SECRET_FILE" // path of a file with the secret, unreadable for other users; white space around the secret is ignored
)

// FromEnv reads the options from environment variables as torchrun sets them:
// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, and the secret from
// [SecretVariable] or [secretFileVariable]. The run has one rank if RANK is not set and
// WORLD_SIZE is 1 or not set. The error is a usage error that lists every problem.
//
// If LOCAL_WORLD_SIZE equals WORLD_SIZE, all ranks are on this machine and use
// its loopback address. If TORCHELASTIC_USE_AGENT_STORE is True, torchrun itself
// listens on MASTER_PORT, and the ranks use the next port.
func FromEnv(getenv func(string) string) (Options, error) {
	if getenv("RANK") == "" && (getenv("WORLD_SIZE") == "" || getenv("WORLD_SIZE") == "1") {
		return Options{Ranks: 1}, nil
	}
	e := environment{getenv: getenv}
	o := Options{Ranks: e.number("WORLD_SIZE", 1, maxRanks), Host: strings.Trim(getenv("MASTER_ADDR"), "[]")}
	o.Rank = e.number("RANK", 0, maxRanks-1)
	if getenv("LOCAL_RANK") != "" {
		o.LocalRank = e.number("LOCAL_RANK", 0, maxRanks-1)
	}
	if getenv("LOCAL_WORLD_SIZE") != "" {
		o.LocalRanks = e.number("LOCAL_WORLD_SIZE", 1, maxRanks)
	}
	if o.Ranks > 1 {
		o.Port = e.number("MASTER_PORT", 1, 65535)
	}
	if getenv("TORCHELASTIC_USE_AGENT_STORE") == "True" {
		o.Port++
	}
	o.Secret = e.secret()
	if o.Local = o.LocalRanks == o.Ranks; o.Local && !isLoopback(o.Host) {
		o.Host = "127.0.0.1"
	}
	if len(e.problems) == 0 {
		e.problems = append(e.problems, o.Validate())
	}
	if err := errors.Join(e.problems...); err != nil {
		if text := err.Error(); strings.Contains(text, notSet) {
			err = fmt.Errorf("%w; %s", err, leftOver(getenv))
		}
		return Options{}, failure.Usage(err)
	}
	return o, nil
}

// leftOver returns advice for errors: which environment variables make this process one
// rank of several, and how to unset them. Another program may have left them in the shell.
func leftOver(getenv func(string) string) string {
	var set, names []string
	for _, name := range []string{"WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} {
		if value := getenv(name); value != "" {
			set, names = append(set, name+"="+shorten(value, 100)), append(names, name)
		}
	}
	return fmt.Sprintf("the environment has %s, as torchrun sets for each process of a run: for a run of one process, unset %s", strings.Join(set, " "), strings.Join(names, " "))
}

// Limits that keep every message below maxPayload.
const (
	maxRanks        = 1 << 12
	maxHost         = 64       // bytes of a host name, as on Linux
	maxReason       = 1 << 12  // bytes of an error's text
	maxFingerprints = 64 << 10 // bytes of all names and values
)

// notSet stands for the value of a variable that is missing.
const notSet = "(not set)"

// An environment reads variables and collects their errors in problems.
type environment struct {
	getenv   func(string) string
	problems []error
}

func (e *environment) number(name string, low, high int) int {
	text := e.getenv(name)
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		if text == "" {
			text = notSet
		}
		e.problems = append(e.problems, fmt.Errorf("%s %s: must be a number from %d to %d", name, text, low, high))
	}
	return n
}

func (e *environment) secret() []byte {
	text, path := e.getenv(SecretVariable), e.getenv(secretFileVariable)
	if text != "" || path == "" {
		return []byte(strings.TrimSpace(text))
	}
	b, err := trust.ReadSecret(path)
	if err != nil {
		e.problems = append(e.problems, fmt.Errorf("%s: %w", secretFileVariable, err))
	}
	return b
}

// Validate returns an error that lists every invalid option; nil if there is none.
func (o *Options) Validate() error {
	var errs []error
	if o.Ranks < 1 || o.Ranks > maxRanks {
		errs = append(errs, fmt.Errorf("WORLD_SIZE %d: must be from 1 to %d", o.Ranks, maxRanks))
	}
	if o.Rank < 0 || o.Rank >= o.Ranks {
		errs = append(errs, fmt.Errorf("RANK %d: must be from 0 to WORLD_SIZE - 1 = %d", o.Rank, o.Ranks-1))
	}
	if o.LocalRank < 0 {
		errs = append(errs, fmt.Errorf("LOCAL_RANK %d: must not be negative", o.LocalRank))
	}
	if len(o.Secret) > 0 && len(o.Secret) < minSecret {
		errs = append(errs, fmt.Errorf("the secret has %d bytes: use at least %d", len(o.Secret), minSecret))
	}
	if o.Ranks > 1 && o.Host == "" {
		errs = append(errs, errors.New("MASTER_ADDR "+notSet+": give the name or address of rank 0's machine"))
	}
	if o.Ranks > 1 && (o.Port < 1 || o.Port > 65535) {
		errs = append(errs, fmt.Errorf("MASTER_PORT %d: must be from 1 to 65535", o.Port))
	}
	length := 0
	for name, value := range o.Fingerprints {
		length += len(name) + len(value)
	}
	if length > maxFingerprints {
		errs = append(errs, fmt.Errorf("fingerprints of %d bytes: must be at most %d; use hashes", length, maxFingerprints))
	}
	return errors.Join(errs...)
}

// canTellUsers is [trust.CanTellUsers], called only once because it opens a connection.
var canTellUsers = sync.OnceValue(trust.CanTellUsers)

// address returns host and port of rank 0.
func (o *Options) address() string { return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)) }

// withoutSecret returns a usage error if there is no secret but ranks need one: rank 0's
// address is not a loopback address, or the system does not report the user of a
// connection.
func (o *Options) withoutSecret(ctx context.Context) error {
	if len(o.Secret) > 0 {
		return nil
	}
	if !canTellUsers() {
		return failure.Usagef("this system does not report which user connects to a rank, and there is no secret: start the ranks with --nproc, or put a random text of at least %d characters into a file and set %s to its path",
			minSecret, secretFileVariable)
	}
	if isLoopback(o.Host) {
		return nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", o.Host)
	local := err == nil && len(ips) > 0
	for _, ip := range ips {
		local = local && ip.Unmap().IsLoopback()
	}
	if local {
		return nil
	}
	return failure.Usagef("MASTER_ADDR %s is not an address of this machine alone, and there is no secret: put one random text of at least %d characters into a file on every machine and set %s to its path",
		o.Host, minSecret, secretFileVariable)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// logf writes a line to o.Log, if it is set.
func (o *Options) logf(format string, args ...any) {
	if o.Log != nil {
		fmt.Fprintf(o.Log, format+"\n", args...)
	}
}
