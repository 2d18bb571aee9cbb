package card

import (
	"slices"
	"strings"

	"pretext/records/columns/consumers"
	"pretext/records/columns/formats"
	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/sharding/survey"
)

// kind returns the singular noun for a record of r, such as "example".
func kind(r *survey.RecordStats) string { return pretrain.RecipeOf(form(r)).Record }

// container returns the singular noun for a file of r.
func container(r *survey.RecordStats) string {
	if r.Format != "" {
		return r.Format + " shard"
	}
	return "TFRecord file"
}

// tags returns the card's tags for the Hub. r is nil if there are no examples.
func tags(r *survey.RecordStats) []string {
	list := []string{"bert", "pretraining", "masked-language-modeling"}
	if r == nil || form(r).Pairs() {
		list = append(list, "next-sentence-prediction")
	}
	if r != nil && r.Format != "" {
		return append(list, r.Format)
	}
	return append(list, "tfrecord")
}

// exact reports whether the examples equal those of google-research/bert's script,
// according to the manifests.
func exact(s *survey.Stats) bool {
	if s.Records == nil || !form(s.Records).Pairs() {
		return false
	}
	for _, stage := range s.Stages {
		switch o, ok := stage.Examples(); stage.Stage {
		case sharding.StageExamples, sharding.StageConvert:
			return ok && o.How().Original && o.NSPNegatives == "" && (o.Recipe != "" || stage.Stage == sharding.StageExamples)
		}
	}
	return false
}

// A reader describes how to read converted examples.
type reader struct {
	Library string
	Program string // Python code
}

// converted returns the reader for the examples of the first split, if they are in the
// format of another library.
func converted(s *survey.Stats) (r reader) {
	split := sharding.Train
	if !slices.ContainsFunc(s.Records.Splits, func(p survey.Split) bool { return p.Split == split }) {
		split = sharding.Eval
	}
	folder := ""
	for _, stage := range s.Stages {
		if stage.Stage == sharding.StageConvert && (folder == "" || stage.Folder == split) {
			folder = slashed(stage.Folder)
		}
	}
	if c, err := consumers.Get(s.Records.Consumer); err == nil {
		return reader{c.Name, strings.ReplaceAll(c.Load, "{folder}", pythonString(strings.TrimSuffix("./"+folder, "/")))}
	}
	format, ok := formats.Get(s.Records.Format)
	if !ok {
		panic("BUG: no format " + s.Records.Format)
	}
	about := format.About()
	pattern := pythonString(escapeGlob(folder) + split + "-*." + about.Suffix)
	program := strings.NewReplacer("{folder}", pythonString("./"+folder), "{pattern}", pattern, "{files}", "sorted(glob.glob("+pattern+"))").Replace(about.Program)
	return reader{about.Library, program}
}
