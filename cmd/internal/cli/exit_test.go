package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pretext/cmd/internal/cli"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/download"
	"pretext/extract/parquet"
	"pretext/extract/wiki"
	"pretext/internal/config"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/survey"
)

// Each error of the packages below, alone and wrapped, has the exit code that
// docs/commands.md gives.
func TestErrorsHaveTheExitCodeOfTheirKind(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "none"))
	for code, errs := range map[int][]error{
		failure.ExitOK:    {nil},
		failure.ExitOther: {errors.New("x"), &store.RemovedError{Folder: "x", Err: &fs.PathError{Err: fs.ErrNotExist}}},
		failure.ExitUsage: {failure.Usagef("x"), &config.Error{}, &stage.OptionsError{},
			&sharding.TooManyShardsError{}, &survey.KindError{}, download.ErrNotFound, &download.NoDumpError{},
			wiki.NotDump("x"), &parquet.UnsupportedError{Column: true}, store.ErrNotFile, missing, syscall.ENOTDIR, syscall.EISDIR},
		failure.ExitOverLimit: {&pipeline.RejectsError{}, &pipeline.WarningsError{}},
		failure.ExitDamaged: {sharding.ErrDamaged, sharding.ErrNoDocuments, &wiki.CorruptError{}, &bzip2.CorruptError{}, books.ErrCorrupt, download.ErrCorrupt,
			&pipeline.ChangedError{}, &parquet.UnsupportedError{}},
		failure.ExitNetwork: {download.ErrNetwork, download.ErrRefused, download.ErrOffline,
			&download.NetworkError{Err: syscall.EACCES}, &download.NetworkError{Err: fs.ErrNotExist}},
		failure.ExitDiskFull:    {syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, &download.NetworkError{Err: syscall.ENOSPC}},
		failure.ExitPermission:  {fs.ErrPermission, syscall.EACCES, syscall.EPERM, syscall.EROFS, failure.Usage(fs.ErrPermission)},
		failure.ExitLocked:      {store.ErrLocked},
		failure.ExitDoesNotFit:  {&stage.MemoryError{}, &pipeline.FitError{}, failure.DoesNotFit("x")},
		failure.ExitInterrupted: {context.Canceled, errors.Join(sharding.ErrDamaged, context.Canceled)},
	} {
		for _, err := range errs {
			if got := failure.ExitCode(err); got != code {
				t.Errorf("%T %[1]v: exit code %d, want %d", err, got, code)
			}
			if err == nil {
				continue
			}
			if got := failure.ExitCode(errors.Join(errors.New("a"), fmt.Errorf("read: %w", err))); got != code {
				t.Errorf("wrapped %T %[1]v: exit code %d, want %d", err, got, code)
			}
		}
	}
}

// The page on the commands explains every exit code that a kind of errors has.
func TestTheDocsListEveryExitCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Exit codes")
	table, _, _ = strings.Cut(table, "\n## ")
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?:^|, )(\d+) `).FindAllStringSubmatch(failure.ExitCodes(), -1) {
		want = append(want, m[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/commands.md lists %v, the programs have %v", got, want)
	}
}

func TestAReportIsOneLineWithAdvice(t *testing.T) {
	for want, err := range map[string]error{
		"prog: a; b (see --help)\n": failure.Usagef("a; b"),
		"prog: write x: no space left on device: free some space and run the same command again\n": fmt.Errorf("write x: %w", syscall.ENOSPC),
		"prog: interrupted: run the same command again to resume\n":                                context.Canceled,
	} {
		var b bytes.Buffer
		cli.Program{Name: "prog"}.Report(&b, err)
		if b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	}
}
