//go:build unix

package pathflags

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"pretext/internal/democorpus"
	"pretext/internal/dev/tinydata"
)

// A thing is a file, folder or name that the tests give to a flag.
type thing struct {
	name, path string
	only       []class // nil: all
}

func (th thing) fits(f pathFlag) bool {
	if f.class == cluster { // one is as good as another
		return th.name == "a pipe"
	}
	return th.only == nil || slices.Contains(th.only, f.class)
}

// A fixture has a data set, a model and the things, at short relative paths.
type fixture struct {
	dir, temp string
	things    []thing
	files     map[string]string // by the name in a command line
	fresh     atomic.Int64
	alone     sync.Mutex
}

func newFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fx := &fixture{dir: dir, temp: filepath.Join(dir, "tmp"), files: map[string]string{"RUN": "run", "BARE": "run/shards", "VOCAB": "vocab.txt", "MODEL": "model",
		"BOOK": "book.txt", "DUMP": "dump.xml.bz2", "HTML": "pages.ndjson", "SQUAD": "squad.json", "ANSWERS": "answers.json"}}
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { must(os.WriteFile(at(name), []byte(text), 0o666)) }
	for _, name := range []string{"tmp", "empty", "run/documents"} {
		must(os.MkdirAll(at(name), 0o777))
	}
	must(tinydata.Write(at("run/shards"), tinydata.Options{Train: 8, Eval: 2, Vocab: 40}))
	vocab, err := os.ReadFile(at("run/shards/vocab.txt"))
	must(err)
	write("vocab.txt", string(vocab))
	write("book.txt", "Call me Ishmael. Some years ago I went to sea.\n\nIt was a way I have.\n")
	write("dump.xml.bz2", string(democorpus.Dump()))
	write("pages.ndjson", "{}\n")
	write("squad.json", `{"data":[],"version":"1.1"}`)
	write("answers.json", "{}")
	write("config.json", `{"vocab_size":40,"hidden_size":16,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":32,"hidden_act":"gelu_new","max_position_embeddings":32,"model_type":"bert"}`)
	must(os.RemoveAll(at("run/documents")))
	fx.make(t, "prepare-data", "extract --books book.txt --out run/documents --quiet")
	fx.make(t, "train-bert", "train --data run/shards --out model --model config.json --num-train-steps 1 --train-batch-size 2 --quiet")
	fx.files["MODEL/config.json"], fx.files["RUN/documents"], fx.files["RUN/shards"] = "config.json", "run/documents", "run/shards"

	must(syscall.Mkfifo(at("fifo"), 0o666))
	device := "/dev/zero"
	if syscall.Mknod(at("device"), syscall.S_IFCHR|0o666, 1<<8|5) == nil { // so that a broken check replaces none of the machine's
		device = "device"
	}
	must(os.Chdir(dir)) // the path of a socket is short
	socket, err := net.Listen("unix", "socket")
	must(err)
	t.Cleanup(func() { socket.Close() })
	links := map[string]string{"to-nothing": "nothing", "to-fifo": "fifo", "to-device": device, "to-folder": "empty"}
	for link, to := range links {
		must(os.Symlink(to, at(link)))
	}
	fx.things = []thing{
		{"a pipe", "fifo", nil}, {"a socket", "socket", nil}, {"a device", device, nil}, {"an endless device", "/dev/zero", []class{input}},
		{"a link to nothing", "to-nothing", nil}, {"a link to a pipe", "to-fifo", nil}, {"a link to a device", "to-device", nil},
		{"a folder", "empty", []class{input, output}}, {"a link to a folder", "to-folder", []class{input, output}}, {"a folder of a data set", "run/shards", []class{folder, output}},
		{"a file of a data set", "run/shards/manifest.json", nil}, {"a user's file", "book.txt", nil},
	}
	return fx
}

// make runs a program and requires that it succeeds.
func (fx *fixture) make(t *testing.T, program, line string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], strings.Fields(line)...)
	cmd.Dir, cmd.Env = fx.dir, fx.environment(program)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, line, err, text)
	}
}

// environment returns the environment variables for a program, without those that
// tests read.
func (fx *fixture) environment(program string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PRETEXT_") })
	return append(env, asProgram+"="+program, "TMPDIR="+fx.temp, "HOME="+fx.temp)
}

// expand returns the words of a command line with the paths of the fixture in place
// of names, without a flag.
func (fx *fixture) expand(line []string, without string) (args []string) {
	for i := 0; i < len(line); i++ {
		if line[i] == "--"+without {
			i++
			continue
		}
		word, isNew := strings.CutPrefix(line[i], "NEW")
		switch file, ok := fx.files[line[i]]; {
		case ok:
			args = append(args, file)
		case isNew:
			args = append(args, fmt.Sprintf("tmp/new-%d%s", fx.fresh.Add(1), word))
		default:
			args = append(args, line[i])
		}
	}
	return args
}

// state returns a description of every file of the fixture, by path.
func (fx *fixture) state(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"/dev/zero": fx.look("/dev/zero")}
	err := filepath.WalkDir(fx.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == fx.temp {
			return err
		}
		rel, err := filepath.Rel(fx.dir, path)
		if !d.IsDir() {
			all[rel] = fx.look(rel)
		}
		return err
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// look describes a file so that the descriptions before and after are equal if nobody
// touched it.
func (fx *fixture) look(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(fx.dir, path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.Mode(), info.Size(), info.ModTime(), info.Sys().(*syscall.Stat_t).Ino)
}
