package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
)

// A WarningsError reports that a run has warnings where none are allowed. Its
// files are finished and valid.
type WarningsError struct {
	Codes []string // "examples: unknown-tokens", in the order of the stages
}

func (e *WarningsError) Error() string {
	return fmt.Sprintf("finished, but --strict allows no warnings: %s", strings.Join(e.Codes, ", "))
}

// OverLimit marks the error for exit codes.
func (e *WarningsError) OverLimit() bool { return true }

// CheckWarnings returns a [*WarningsError] if any stage has a warning.
func CheckWarnings(stages []StageSummary) error {
	var codes []string
	for _, s := range stages {
		for _, w := range s.Warnings {
			codes = append(codes, s.Stage+": "+w.Code)
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return &WarningsError{codes}
}

// folderWarnings returns the warnings of a stage's manifest, after those of the
// documents in its imported folder if it was made from them.
func folderWarnings(location string, m *sharding.Manifest) ([]sharding.DescribedWarning, error) {
	ctx := context.Background()
	imported := filepath.Join(location, sharding.ImportedFolder)
	folder, err := store.Open(imported)
	if err != nil {
		return nil, err
	}
	in, err := sharding.ManifestInput(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Contains(m.Inputs, in) {
		return m.Describe(), nil
	}
	if err != nil {
		return nil, err
	}
	above, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	return append(above.Describe(), m.Describe()...), nil
}
