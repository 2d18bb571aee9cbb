package archtest

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// heavy are the packages of others, by prefix, that a plain build leaves out: with what
// they import they are 150 packages more.
var heavy = []string{
	"github.com/apache/beam/sdks/v2/go/container",
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness",
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal",
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx",
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x",
	"google.golang.org/grpc",
	"google.golang.org/api",
	"cloud.google.com",
	"github.com/moby",
	"github.com/docker",
}

// never are packages that no build has.
var never = []string{"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"}

// The first build of a new user compiles no support for clusters.
func TestAPlainBuildImportsNothingOfClusters(t *testing.T) {
	found := 0
	walk(t, parser.ImportsOnly|parser.ParseComments, func(pkg string, f *ast.File) {
		for _, imp := range f.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			is := func(prefix string) bool { return below(path, prefix) }
			switch {
			case slices.ContainsFunc(never, is):
				t.Errorf("package %s imports %s: see docs/decisions/direct-runner.md", pkg, path)
			case !slices.ContainsFunc(heavy, is):
			case onlyWith(f, "cluster"):
				found++
			default:
				t.Errorf("%s imports %s, so it needs the build tag cluster", sources.Position(f.Package).Filename, path)
			}
		}
	})
	if found == 0 {
		t.Error("no file imports support for clusters: is the list right?")
	}
}

// onlyWith reports whether a file is in builds with a tag alone.
func onlyWith(f *ast.File, tag string) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() > f.Package || !strings.HasPrefix(c.Text, "//go:build ") {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				return false
			}
			without := func(others bool) bool { return expr.Eval(func(name string) bool { return name != tag && others }) }
			return !without(true) && !without(false)
		}
	}
	return false
}
