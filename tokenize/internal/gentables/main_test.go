package main

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"pretext/internal/dev/realdata"
)

func TestTheTablesAreThoseThatTheGeneratorWrites(t *testing.T) {
	if unicode.Version != pinned || norm.Version != pinned {
		realdata.Missing(t, fmt.Sprintf("Go has Unicode %s, x/text %s; the tables are of %s", unicode.Version, norm.Version, pinned))
	}
	want, err := os.ReadFile("../../tables_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := run(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("tables_generated.go is not what the generator writes: run go generate ./tokenize")
	}
}
