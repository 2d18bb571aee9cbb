// Levels runs the tests of packages with vector code as on lesser processors: with AVX2
// but not AVX-512, and without vector instructions.
//
//	go run ./internal/dev/levels            # what make levels does
//	go run ./internal/dev/levels PROGRAM …  # runs PROGRAM at each level
//
// A level is a value of GODEBUG. golang.org/x/sys/cpu, which all of this module's code
// asks for the processor's features, and Go's own library obey it at the start of a
// process. So each test binary is linked once and run at each level.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"pretext/internal/dev/realdata"
)

// A level is a class of processors, by their vector instructions.
type level struct{ name, godebug string }

// levels turn off all processor features, then turn on those of the level. So a
// feature that the code starts to use is off until it is listed here. Go's library
// must know a feature, or it prints a line at each start.
var levels = []level{
	{"AVX2", "cpu.all=off,cpu.sse3=on,cpu.ssse3=on,cpu.sse41=on,cpu.sse42=on,cpu.popcnt=on,cpu.pclmulqdq=on,cpu.aes=on," +
		"cpu.avx=on,cpu.avx2=on,cpu.fma=on,cpu.bmi1=on,cpu.bmi2=on"},
	{"no vector instructions", "cpu.all=off"},
}

// packages are the packages with vector code, and some above them whose results are
// compared with other programs.
var packages = []string{
	"extract/bzip2", "extract/wiki/wikitext",
	"internal/pyrandom", "internal/sumpair", "internal/utf8scan", "tokenize",
	"records", "records/pretrain", "records/tfrecord",
	"trainer/backendtest", "trainer/cpu", "trainer/cpu/internal/kernel", "trainer/dropout",
}

// skip matches slow tests that use no vector code: those in float64, of planted
// faults, and of text from templates.
const skip = "^(TestRanksGiveTheWeightsOfOneRank|TestAttentionGradientEqualsFiniteDifferences|TestWholeModelGradientEqualsFiniteDifferences|" +
	"TestEveryFaultFailsTheSuite|TestTemplatesWithEnglishNamesWriteNoEnglish)$"

func main() {
	err := error(nil)
	if len(os.Args) > 1 {
		err = runAtEach(os.Args[1:])
	} else {
		err = testAll()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(max(1, exit.ExitCode()))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "levels: %v\n", err)
		os.Exit(1)
	}
}

// testAll runs the tests of all packages with go test, which calls this program to run
// each test binary.
func testAll() error {
	if runtime.GOARCH != "amd64" {
		fmt.Println("the levels are those of amd64: go test ./... ran the vector code that this architecture has")
		return nil
	}
	if line := missing(realdata.HasInstructions); line != "" {
		fmt.Println(line)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"test", "-count=1", "-vet=off", "-skip=" + skip, "-exec=" + self}
	for _, p := range packages {
		args = append(args, "pretext/"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// missing returns a line about the code that no level runs on this processor, or "".
func missing(has func(instructions string) bool) string {
	var names []string
	for _, name := range []string{"AVX2", "AVX-512 BW", "AVX-512 VBMI2", "AVX-512 VPCLMULQDQ"} {
		if !has(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "this processor has no " + strings.Join(names, ", ") + ": code that needs it is not run here"
}

// runAtEach runs a program at each level, until it fails.
func runAtEach(argv []string) error {
	for _, l := range levels {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "GODEBUG="+l.godebug)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Printf("with %s (GODEBUG=%s): %v\n", l.name, l.godebug, err)
			return err
		}
	}
	return nil
}
