package main

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFunctionBelongsToItsPackage(t *testing.T) {
	for function, want := range map[string]string{
		"pretext/records.packFours.abi0":                         "pretext/records",
		"pretext/extract.nextEscape[go.shape.[]uint8]":           "pretext/extract",
		"github.com/klauspost/compress/zstd.(*blockEnc).encode":  "github.com/klauspost/compress/zstd",
		"slices.partitionCmpFunc[go.shape.struct { a/b.C int }]": "slices",
		"runtime.memmove":                          "runtime",
		"crypto/internal/fips140/sha256.blockSHA2": sha256Package,
		"aeshashbody":                              "aeshashbody",
	} {
		if got := packageOf(function); got != want {
			t.Errorf("%s: got %q, want %q", function, got, want)
		}
	}
}

func TestBlocksAreCountedForTheFunctionAtTheirAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "blocks.1")
	if err := os.WriteFile(file, []byte("5 1 1\n16 3 10\n40 2 5\n32 1 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	if err := addBlocks(got, []elf.Symbol{{Name: "a/b.F", Value: 16}, {Name: "c.G", Value: 32}}, file); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got["unknown"] != 1 || got["a/b"] != 30 || got["c"] != 11 {
		t.Errorf("got %v", got)
	}
	if err := os.WriteFile(file, []byte("16 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := addBlocks(got, nil, file); err == nil {
		t.Error("got no error of a line that is cut")
	}
}

func TestTooManyInstructionsAreAnError(t *testing.T) {
	for _, test := range []struct {
		amd64, arm64 map[string]uint64
		want         string
	}{
		{map[string]uint64{"a": 100, sha256Package: 900}, map[string]uint64{"a": 129, sha256Package: 1}, ""},
		{map[string]uint64{"a": 100, sha256Package: 900}, map[string]uint64{"a": 131, sha256Package: 1}, "1.31 times"},
		{map[string]uint64{sha256Package: 900}, map[string]uint64{"a": 1}, "no instructions"},
	} {
		err := table(new(strings.Builder), test.amd64, test.arm64, 1.3)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v and %v: got %v, want %q", test.amd64, test.arm64, err, test.want)
		}
	}
}
