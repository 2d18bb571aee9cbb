//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"pretext/trainer/checkpoint"
)

// fenced returns the first block of code in docs/multi-gpu.md that begins with the
// fence, after a text.
func fenced(t *testing.T, after, fence string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/multi-gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), after)
	_, rest, ok2 := strings.Cut(rest, "\n```"+fence+"\n")
	block, _, ok3 := strings.Cut(rest, "\n```\n")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("docs/multi-gpu.md has no block ```%s after %q", fence, after)
	}
	return block + "\n"
}

// A site is a directory with data, in which the lines of the documentation run.
type site struct {
	dir  string
	port string
	path string // PATH, in which train-bert is found
}

func newSite(t *testing.T) site {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	args := writeRun(t, "out")
	s := site{dir: t.TempDir(), port: strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)}
	for name, target := range map[string]string{"shards": args[2], "config.json": args[6]} {
		if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(s.dir, "shared"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.path = filepath.Dir(linkToSelf(t)) + ":" + os.Getenv("PATH")
	return s
}

// small replaces the model and the length of a run by small ones.
func (s site) small(line string) string {
	return strings.ReplaceAll(strings.ReplaceAll(line, "--model base", "--model config.json --num-train-steps 2 --train-batch-size 8 --threads 1"), "29500", s.port)
}

func (s site) command(more []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, append(append(os.Environ(), "PATH="+s.path), more...)
	return cmd
}

// trained requires a checkpoint of so many ranks.
func (s site) trained(t *testing.T, ranks int) {
	t.Helper()
	c, err := checkpoint.Newest(filepath.Join(s.dir, "out"))
	if err != nil || c.State.Ranks != ranks || c.State.Progress.Step != 2 {
		t.Errorf("want a checkpoint of step 2 and %d ranks, got %+v, %v", ranks, c, err)
	}
}

// fakeSlurm stands for the two programs of Slurm: srun starts two tasks.
var fakeSlurm = map[string]string{
	"scontrol": "#!/bin/sh\n[ \"$*\" = 'show hostnames node[1-2]' ] && echo localhost && echo other\n",
	"srun": `#!/bin/sh
SLURM_NTASKS=2 SLURM_PROCID=1 SLURM_LOCALID=1 "$@" & other=$!
SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_LOCALID=0 "$@" && wait $other
`,
}

func TestTheLinesForSlurmTrain(t *testing.T) {
	s := newSite(t)
	bin := t.TempDir()
	for name, script := range fakeSlurm {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.path = bin + ":" + s.path
	out, err := s.command([]string{"SLURM_JOB_NODELIST=node[1-2]"}, "bash", "-e", "-c", s.small(fenced(t, "Slurm, in a batch script", "sh"))).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.trained(t, 2)
	if info, err := os.Stat(filepath.Join(s.dir, "shared/secret")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret: %v, %v, want a file that others cannot read", info, err)
	}
}

// A job is what the test reads of the example for Kubernetes.
type job struct {
	Metadata struct{ Name string }
	Spec     struct {
		Completions, Parallelism int
		CompletionMode           string `yaml:"completionMode"`
		Template                 struct {
			Spec struct {
				Subdomain  string
				Containers []struct {
					Command []string
					Env     []struct {
						Name, Value string
						ValueFrom   any `yaml:"valueFrom"`
					}
				}
			}
		}
	}
}

// The pods of the Indexed Job run as processes here, with the variables that
// Kubernetes sets.
func TestTheJobForKubernetesTrains(t *testing.T) {
	s := newSite(t)
	d := yaml.NewDecoder(bytes.NewReader([]byte(fenced(t, "Kubernetes, as an Indexed Job", "yaml"))))
	var service, j job
	for _, v := range []*job{&service, &j} {
		if err := d.Decode(v); err != nil {
			t.Fatal(err)
		}
	}
	n, pod := j.Spec.Completions, j.Spec.Template.Spec
	var env []string
	for _, v := range pod.Containers[0].Env {
		value := s.small(v.Value)
		switch {
		case v.Name == "MASTER_ADDR":
			if want := j.Metadata.Name + "-0." + service.Metadata.Name; value != want || pod.Subdomain != service.Metadata.Name {
				t.Errorf("MASTER_ADDR is %s, subdomain %s; the name of pod 0 is %s", value, pod.Subdomain, want)
			}
			value = "127.0.0.1"
		case v.Name == "WORLD_SIZE" && value != fmt.Sprint(n):
			t.Errorf("WORLD_SIZE is %s, want %d", value, n)
		case v.ValueFrom != nil:
			value = "the secret of the test"
		}
		env = append(env, v.Name+"="+value)
	}
	if j.Spec.CompletionMode != "Indexed" || j.Spec.Parallelism != n {
		t.Errorf("%d of %d pods run at once, mode %q", j.Spec.Parallelism, n, j.Spec.CompletionMode)
	}
	line := pod.Containers[0].Command
	line[2] = strings.NewReplacer("/data", "shards", "/out", "out").Replace(s.small(line[2]))
	var pods []*exec.Cmd
	for i := range n {
		cmd := s.command(append(env, fmt.Sprint("JOB_COMPLETION_INDEX=", i)), line[0], line[1:]...)
		cmd.Stderr = &bytes.Buffer{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, cmd)
	}
	for i, cmd := range pods {
		if err := cmd.Wait(); err != nil {
			t.Errorf("pod %d: %v: %s", i, err, cmd.Stderr)
		}
	}
	s.trained(t, n)
}

func TestTheModelOfScalingPrintsWhatTheDocumentationSays(t *testing.T) {
	const after = "## A model of scaling"
	s := newSite(t)
	if err := os.WriteFile(filepath.Join(s.dir, "figures.json"), []byte(fenced(t, after, "json")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := s.command(nil, filepath.Join(strings.Split(s.path, ":")[0], "train-bert"), "bench", "--simulate", "figures.json").CombinedOutput()
	if want := fenced(t, "it prints\n", ""); err != nil || string(out) != want {
		t.Errorf("%v, printed\n%s\nwant\n%s", err, out, want)
	}
}
