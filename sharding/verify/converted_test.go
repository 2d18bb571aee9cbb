package verify_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/pipeline"
	"pretext/pipeline/convert"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding"
	"pretext/sharding/verify"
)

// widelyRead are the formats of which all forms of examples are damaged; of the
// others it is pairs and tokens, since the same code reads all forms.
var widelyRead = []string{"mds", "parquet"}

// Whatever happens to a file of converted shards, in any format and form, verify
// names it.
func TestEveryDamageOfConvertedShardsIsNamed(t *testing.T) {
	for _, row := range []struct {
		form   records.Form
		recipe string
		every  bool // format
	}{
		{records.Pairs, "google", true}, {records.Masked, "mlm", false},
		{records.Tokens, "tokens", true}, {records.Packed, "packed", false}, {records.Pieces, "pieces", false},
	} {
		run := smallRun(t, func(c *pipeline.RunConfig) { useRecipe(c, row.recipe) })
		for _, format := range formats.Names() {
			f, _ := formats.Get(format)
			if columns.Holds(f, row.form) && (row.every || slices.Contains(widelyRead, format)) {
				damageConverted(t, run, format, row.form)
			}
		}
	}
}

// damageConverted converts the shards of a run and damages each file of the result.
func damageConverted(t *testing.T, run, format string, form records.Form) {
	out := filepath.Join(run, format)
	_, err := convert.Run(t.Context(), stage.Runner{Name: stage.Direct, Workers: 1}, convert.Config{Target: stage.Target{Out: out},
		Shards: filepath.Join(run, sharding.ShardsFolder), Format: format, Split: sharding.Train})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := verify.Dataset(t.Context(), out, verify.Options{}); err != nil || !v.OK() {
		t.Fatalf("%s: %v, %v", format, v, err)
	}
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() || f.Name() == sharding.RunName || f.Name() == sharding.ReaderName || strings.HasPrefix(f.Name(), ".lock") {
			continue
		}
		t.Run(format+" of "+string(form)+"/"+f.Name(), func(t *testing.T) { damageEachWay(t, filepath.Join(out, f.Name())) })
	}
}

// damageEachWay damages a file in many ways, of each of which verify must name it.
func damageEachWay(t *testing.T, path string) {
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(path, whole, 0o666)
	for d := range damages(torture.Random(t), filepath.Base(path), whole, variantsOf(t, filepath.Base(path))/5) {
		if d.missing {
			os.Remove(path)
		} else if err := os.WriteFile(path, d.data, 0o666); err != nil {
			t.Fatal(err)
		}
		if problem := missed(path, whole, d); problem != "" {
			t.Fatalf("%s: %s", d.what, problem)
		}
	}
}
