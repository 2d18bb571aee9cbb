package comm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var secret = []byte("a secret of 24 bytes....")

// lines collects what is logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Strangers at the port neither stop nor delay the ranks, and are not admitted.
func TestStrangersAreRefused(t *testing.T) {
	defer goleak.VerifyNone(t)
	port := freePort(t)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	var log lines
	late := make(chan struct{})
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for r := range 2 {
		wg.Go(func() {
			if r == 1 {
				<-late
			}
			g, err := join(context.Background(), Options{Rank: r, Ranks: 2, Host: "127.0.0.1", Port: port, Secret: secret, Wait: 10 * time.Second, Log: &log}, quick)
			if errs[r] = err; err == nil {
				errs[r] = g.Barrier()
				g.Close()
			}
		})
	}
	silent := dialUntil(t, address)
	defer silent.Close()
	for _, garbage := range []string{"GET / HTTP/1.1\r\n\r\n", strings.Repeat("\xff", 1<<16), "pretext ranks 9\n" + strings.Repeat("x", 200), greeting + strings.Repeat("x", 64), ""} {
		stranger := dialUntil(t, address)
		io.WriteString(stranger, garbage)
		if garbage == "" {
			stranger.Close()
			continue
		}
		stranger.SetReadDeadline(time.Now().Add(5 * time.Second))
		b, err := io.ReadAll(stranger)
		if len(b) > len(greeting)+nonce+33 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("garbage %.20q was answered with %d bytes, %v", garbage, len(b), err)
		}
		stranger.Close()
	}
	close(late)
	begin := time.Now()
	wg.Wait()
	mustAll(t, errs)
	if d := time.Since(begin); d > quick.handshake {
		t.Errorf("a silent stranger delayed the ranks by %v", d)
	}
	if !strings.Contains(log.String(), "refused a connection from 127.0.0.1:") || strings.Count(log.String(), "refused") > 6 {
		t.Errorf("the log has %q", log.String())
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("rank 0 still listens when all ranks are connected")
	}
}

func dialUntil(t *testing.T, address string) net.Conn {
	t.Helper()
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			return c
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nothing listens at %s", address)
	return nil
}

func TestAWrongSecretIsRefusedAtBothEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	var log lines
	errs := joined(t, 2, quick, func(r int, o *Options) {
		o.Secret, o.Log, o.Wait = []byte(fmt.Sprintf("%s%d", secret, r)), &log, time.Second
	}, (*Group).Barrier)
	var usage interface{ Usage() bool }
	if !errors.As(errs[1], &usage) || !strings.Contains(fmt.Sprint(errs[1]), "same secret") {
		t.Errorf("rank 1: got %v, want a usage error about the secret", errs[1])
	}
	if !strings.Contains(fmt.Sprint(errs[0]), "rank 1: did not come") || !strings.Contains(fmt.Sprint(errs[0]), "same secret") {
		t.Errorf("rank 0: got %v, want that rank 1 did not come and who was refused", errs[0])
	}
}

// What a rank sent in one handshake proves nothing in another, to either side.
func TestAReplayedHandshakeIsRefused(t *testing.T) {
	clientSide, serverSide := pipe(t)
	client := &recorder{Conn: clientSide}
	server := &recorder{Conn: serverSide}
	result := make(chan error, 1)
	go func() { result <- handshakeServer(server, secret, time.Second) }()
	if err := errors.Join(handshakeClient(client, secret, time.Second), <-result); err != nil {
		t.Fatal(err)
	}

	a, b := pipe(t)
	go func() { a.Write(client.sent.Bytes()) }()
	go io.Copy(io.Discard, a)
	if err := handshakeServer(b, secret, time.Second); !errors.Is(err, errSecret) {
		t.Errorf("a replayed rank: got %v, want %v", err, errSecret)
	}
	a, b = pipe(t)
	go io.Copy(io.Discard, a)
	go func() { a.Write(server.sent.Bytes()) }()
	if err := handshakeClient(b, secret, time.Second); !errors.Is(err, errSecret) {
		t.Errorf("a replayed rank 0: got %v, want %v", err, errSecret)
	}
	// A server that sends the client's own words back.
	a, b = pipe(t)
	go io.Copy(a, a)
	if err := handshakeClient(b, secret, 200*time.Millisecond); err == nil {
		t.Error("a reflected handshake was accepted")
	}
}

// pipe returns the ends of a connection, which are closed with the test.
func pipe(t *testing.T) (net.Conn, net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// recorder keeps what is written.
type recorder struct {
	net.Conn
	sent bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) {
	r.sent.Write(b)
	return r.Conn.Write(b)
}

func TestRanksOfAnotherVersionAreToldSo(t *testing.T) {
	a, b := pipe(t)
	go func() {
		io.ReadFull(a, make([]byte, len(greeting)+nonce))
		io.WriteString(a, strings.Replace(greeting, "2", "3", 1)+strings.Repeat("x", nonce))
	}()
	if err := handshakeClient(b, nil, time.Second); !errors.Is(err, errProtocol) {
		t.Errorf("got %v, want %v", err, errProtocol)
	}
}

func TestALateRankIsWaitedForWithOneLine(t *testing.T) {
	defer goleak.VerifyNone(t)
	for late, want := range []string{"rank 1 waits up to 10s for rank 0 at 127.0.0.1:", "waiting up to 10s for rank 1 of 2, at 127.0.0.1:"} {
		var log lines
		mustAll(t, joined(t, 2, quick, func(r int, o *Options) {
			if o.Log = &log; r == late {
				time.Sleep(5 * quick.notice)
			}
		}, (*Group).Barrier))
		if got := log.String(); !strings.HasPrefix(got, want) || strings.Count(got, want) != 1 || strings.Count(got, "\n") > 2 {
			t.Errorf("rank %d late: the log has %q, want one line a rank: %s…", late, got, want)
		}
	}
}

func TestARankThatNeverComesIsNamed(t *testing.T) {
	defer goleak.VerifyNone(t)
	port := freePort(t)
	var wg sync.WaitGroup
	for r := range 2 {
		wg.Go(func() {
			_, err := join(context.Background(), Options{Rank: r, Ranks: 4, Host: "localhost", Port: port, Wait: 500 * time.Millisecond}, quick)
			var lost *RankError
			if !errors.As(err, &lost) || lost.Rank != 2 || exitCode(err) != 5 || !strings.Contains(err.Error(), "within 500ms; missing: ranks 2, 3") {
				t.Errorf("rank %d: got %v, want ranks 2 and 3 named, exit code 5", r, err)
			}
		})
	}
	wg.Wait()
	_, err := join(context.Background(), Options{Rank: 1, Ranks: 2, Host: "127.0.0.1", Port: port, Wait: 300 * time.Millisecond}, quick)
	if err == nil || exitCode(err) != 5 || !strings.Contains(err.Error(), "rank 0 did not answer at 127.0.0.1:") {
		t.Errorf("without rank 0: got %v", err)
	}
}

func TestARankThatIsInterruptedWhileItWaitsEndsAll(t *testing.T) {
	defer goleak.VerifyNone(t)
	port := freePort(t)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	var wg sync.WaitGroup
	for r := range 2 {
		wg.Go(func() {
			own := context.Background()
			if r == 1 {
				own = ctx
			}
			if _, err := join(own, Options{Rank: r, Ranks: 3, Host: "127.0.0.1", Port: port, Wait: time.Minute}, quick); !errors.Is(err, context.Canceled) {
				t.Errorf("rank %d: got %v, want %v", r, err, context.Canceled)
			}
		})
	}
	wg.Wait()
}

func TestIPv6(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no IPv6 here: ", err)
	}
	ln.Close()
	mustAll(t, joined(t, 3, calm, func(_ int, o *Options) { o.Host = "::1" }, (*Group).Barrier))
	mustAll(t, joined(t, 3, calm, func(r int, o *Options) { // one machine, reached by different addresses
		o.Secret = secret
		if r == 2 {
			o.Host = "::1"
		}
	}, (*Group).Barrier))
}

func TestOptionsFromTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, append([]byte("  "), append(secret, '\n')...), 0o600); err != nil {
		t.Fatal(err)
	}
	torchrun := "RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 MASTER_ADDR=node7 MASTER_PORT=29500"
	for env, want := range map[string]string{
		"": `{0 1 0 "" 0 false ""}`,
		torchrun + " PRETEXT_BERT_SECRET_FILE=" + file:                     `{1 4 1 "node7" 29500 false "a secret of 24 bytes...."}`,
		torchrun + " PRETEXT_BERT_SECRET=0123456789abcdef":                 `{1 4 1 "node7" 29500 false "0123456789abcdef"}`,
		torchrun + " LOCAL_WORLD_SIZE=4 TORCHELASTIC_USE_AGENT_STORE=True": `{1 4 1 "127.0.0.1" 29501 true ""}`,
		"RANK=0 WORLD_SIZE=2 MASTER_ADDR=[::1] MASTER_PORT=1":              `{0 2 0 "::1" 1 false ""}`,
		"RANK=0 WORLD_SIZE=1":                                                `{0 1 0 "" 0 false ""}`,
		"RANK=2 WORLD_SIZE=2 MASTER_ADDR=x MASTER_PORT=1":                    "RANK 2: must be from 0 to WORLD_SIZE - 1 = 1",
		"WORLD_SIZE=1":                                                       `{0 1 0 "" 0 false ""}`,
		"RANK=0":                                                             "WORLD_SIZE (not set): must be a number from 1 to 4096",
		"WORLD_SIZE=2 MASTER_ADDR=x MASTER_PORT=70000":                       "RANK (not set): must be a number from 0 to 4095\nMASTER_PORT 70000: must be a number from 1 to 65535",
		"WORLD_SIZE=2 RANK=0 MASTER_PORT=1":                                  "MASTER_ADDR (not set): give the name or address of rank 0's machine",
		"RANK=-1 WORLD_SIZE=two MASTER_ADDR=x MASTER_PORT=1":                 "WORLD_SIZE two: must be a number from 1 to 4096\nRANK -1: must be a number from 0 to 4095",
		torchrun + " PRETEXT_BERT_SECRET=short":                              "the secret has 5 bytes: use at least 16",
		torchrun + " PRETEXT_BERT_SECRET_FILE=" + filepath.Dir(file) + "/no": "PRETEXT_BERT_SECRET_FILE: stat " + filepath.Dir(file) + "/no: no such file or directory",
	} {
		o, err := FromEnv(func(name string) string {
			for _, pair := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		})
		got := fmt.Sprintf("{%d %d %d %q %d %v %q}", o.Rank, o.Ranks, o.LocalRank, o.Host, o.Port, o.Local, o.Secret)
		if err != nil {
			if got = err.Error(); exitCode(err) != 2 {
				t.Errorf("%s: %v is no usage error", env, err)
			}
		}
		got, left, _ := strings.Cut(got, "; the environment has ")
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", env, got, want)
		}
		if missing := strings.Contains(want, "(not set)"); missing != strings.Contains(left, env+", as torchrun sets") || missing && !strings.Contains(left, "unset ") {
			t.Errorf("%s: what is left over of another program is told as %q", env, left)
		}
	}
}

func TestAnotherMachineNeedsASecret(t *testing.T) {
	for _, host := range []string{"192.0.2.1", "0.0.0.0", "::", "no-such-machine.invalid"} {
		_, err := Join(context.Background(), Options{Rank: 0, Ranks: 2, Host: host, Port: 1, Wait: time.Second})
		if err == nil || exitCode(err) != 2 || !strings.Contains(err.Error(), "MASTER_ADDR "+host+" ") || !strings.Contains(err.Error(), secretFileVariable) {
			t.Errorf("%s: got %v, want a usage error that explains secrets", host, err)
		}
	}
}

func TestAPortInUseIsExplained(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, err = Join(context.Background(), Options{Rank: 0, Ranks: 2, Host: "127.0.0.1", Port: portOf(ln.Addr())})
	if err == nil || !strings.Contains(err.Error(), "MASTER_PORT") {
		t.Errorf("got %v, want the port named", err)
	}
}
