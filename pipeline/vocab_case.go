package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"pretext/internal/store"
	"pretext/sharding"
)

// chooseCase sets whether text is lower-cased and stripped of marks, if the user did not.
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

// vocabNotes says what was chosen for text that is not English.
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

// IsCased reports whether a vocab.txt is one that the vocab stage trained with case and
// marks, by the manifest beside it. It is false if nothing beside it says that.
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
		DoLowerCase *bool `json:"do_lower_case"` // nil for a vocabulary that was given
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

// keepCase makes o cased if a vocabulary is given that was trained so, unless the user
// has decided.
func (f TokenFile) keepCase(ctx context.Context, o *sharding.ExamplesOptions, fixed bool) {
	if !fixed && o.DoLowerCase && f.Vocab != "" && IsCased(ctx, f.Vocab) {
		o.DoLowerCase = false
	}
}

// lostMarks returns what the tokenizer loses of the documents, nil if that is within the
// limits.
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
