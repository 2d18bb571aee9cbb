package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode"

	"pretext/internal/dev/realdata"
)

func TestTheTablesAreThoseThatTheGeneratorWrites(t *testing.T) {
	const file = "../../chartable.go"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(want), "\n"); !strings.Contains(first, " Unicode "+unicode.Version+";") {
		realdata.Missing(t, "the toolchain has Unicode "+unicode.Version+", not that of the tables: "+first)
	}
	got, err := tables()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("chartable.go is not what the generator writes: in tokenize/sentence, run go run ./internal/genchars > chartable.go")
	}
}
