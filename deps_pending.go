//go:build deps

package pretext

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/sugarme/tokenizer/model/wordpiece"
	_ "github.com/vbauerster/mpb/v8"
	_ "go.uber.org/goleak"
	_ "golang.org/x/net/html"
	_ "golang.org/x/sys/cpu"
	_ "golang.org/x/term"
	_ "golang.org/x/text/unicode/norm"
	_ "gonum.org/v1/gonum/blas/gonum"
	_ "pgregory.net/rapid"
	_ "github.com/gofrs/flock"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/spf13/cobra"
)
