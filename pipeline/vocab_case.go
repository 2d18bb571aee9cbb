package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"pretext/internal/store"
	"pretext/sharding"
)

// chooseCase sets Training.DoLowerCase to false if lower-casing would lose too many
// marks, unless the user has chosen. It also sets Training.Marks.
func (c *VocabConfig) chooseCase(ctx context.Context, inputs []sharding.DocumentsInput) error {
	if c.FixedCase || !c.Training.DoLowerCase {
		return nil
	}
	marks, err := sharding.MeasureMarks(ctx, inputs)
	if err != nil {
		return err
	}
	c.Training.DoLowerCase = !marks.TooMany()
	if marks.Losing > 0 && !(marks.Usual() && c.Training.DoLowerCase) {
		c.Training.Marks = &marks
	}
	return nil
}

// vocabNotes explains the choice of case for text that is not usual English.
func vocabNotes(m *sharding.Manifest) []string {
	var o VocabOptions
	if json.Unmarshal(m.Options, &o) != nil || o.Marks == nil {
		return nil
	}
	choice := "so this one keeps marks and case (give --do-lower-case for an uncased one)"
	if o.DoLowerCase {
		choice = "which is little, so this one is uncased (give --do-lower-case=false to keep marks and case)"
	}
	return []string{fmt.Sprintf("with an uncased vocabulary %s, %s", o.Marks.Describe(), choice)}
}

// IsCased reports whether a vocab.txt was trained by the vocab stage with case and marks.
// This is known only from the manifest beside the file; without that, IsCased returns
// false.
func IsCased(ctx context.Context, path string) bool {
	folder, err := store.Open(store.Dir(path))
	if err != nil {
		return false
	}
	m, err := sharding.ReadManifestHead(ctx, folder)
	if err != nil || m.Stage != "vocab" && m.Stage != sharding.StageExamples {
		return false
	}
	var made struct {
		DoLowerCase *bool `json:"do_lower_case"` // nil for a vocabulary that was not trained by the stage
	}
	if json.Unmarshal(m.Options, &made) != nil || made.DoLowerCase == nil || *made.DoLowerCase {
		return false
	}
	_, sum, err := sharding.HashFile(ctx, folder, store.Base(path))
	if err != nil {
		return false
	}
	for f, err := range m.EachFile(ctx, folder) {
		if err == nil && f.Name == store.Base(path) {
			return f.SHA256 == sum
		}
	}
	return false
}

// keepCase switches lower-casing off in o if f is a vocabulary trained with case and
// marks. It does nothing if the user has chosen (fixed).
func (f TokenFile) keepCase(ctx context.Context, o *sharding.ExamplesOptions, fixed bool) {
	if !fixed && o.DoLowerCase && f.Vocab != "" && IsCased(ctx, f.Vocab) {
		o.DoLowerCase = false
	}
}

// lostMarks returns the marks that the tokenizer would lose in the documents, or nil if
// they are within the limits.
func lostMarks(ctx context.Context, inputs []sharding.DocumentsInput, t *sharding.Tokenizer) (*sharding.LostMarks, error) {
	if t.WordPiece == nil || !t.WordPiece.Options().StripsAccents() {
		return nil, nil
	}
	marks, err := sharding.MeasureMarks(ctx, inputs)
	if err != nil || !marks.TooMany() {
		return nil, err
	}
	return &marks, nil
}
