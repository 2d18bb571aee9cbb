package sharding

import (
	"context"
	"fmt"

	"pretext/internal/recognize"
)

// notData and notDataFolder are advice for files and directories that are not data sets,
// by kind. Files of other kinds are opened as records, which reports the error.
var (
	notData = recognize.Each("give a run of prepare-data, a folder of one of its stages, or a file of TFRecord records",
		recognize.Dump, recognize.DumpIndex, recognize.SQL, recognize.Checksums, recognize.Abstracts, recognize.Titles, recognize.RSS, recognize.XML,
		recognize.HTML, recognize.TokenizerJSON, recognize.ModelConfig, recognize.Vocab, recognize.SentencePiece, recognize.Text,
		recognize.Tar, recognize.Zip, recognize.EPUB, recognize.SevenZip, recognize.RAR, recognize.Xz, recognize.PDF, recognize.Arrow,
		recognize.SQLite, recognize.Office, recognize.Weights).
		With(recognize.Each("give the folder that it is in", recognize.JSON, recognize.Parquet, recognize.NumPy))

	notDataFolder = recognize.Each("prepare-data run makes examples of it; give the folder that it writes",
		recognize.TextFolder, recognize.DumpFolder, recognize.JSONFolder, recognize.ParquetFolder, recognize.ArchiveFolder, recognize.HTMLFolder,
		recognize.PDFFolder, recognize.Saved).
		With(recognize.Each("it has no examples; give the data that it was trained on", recognize.Model, recognize.TrainingRun)).
		With(recognize.Cures{
			recognize.EmptyFolder:     "give a run of prepare-data, a folder of one of its stages, or a folder of TFRecord files",
			recognize.TokenizerFolder: "it has no examples; give a folder of shards",
			recognize.WeightsFolder:   "it has no examples; give a folder of shards",
		})
)

// A noDataError reports a directory that is not a data set. Readers treat it as an
// unfinished folder.
type noDataError struct{ error }

func (noDataError) Is(target error) bool { return target == ErrUnfinished }

// Usage marks the error for exit codes.
func (noDataError) Usage() bool { return true }

// isModel reports whether there is a model or a training run at location. It is needed
// because checkpoints also have manifests, which are not those of a stage.
func isModel(ctx context.Context, location string) bool {
	kind := recognize.Path(ctx, location)
	return kind == recognize.Model || kind == recognize.TrainingRun
}

// noData returns the error for a directory without stages and records.
func noData(ctx context.Context, location string) error {
	if err := notDataFolder.Check(ctx, location); err != nil {
		return noDataError{err}
	}
	return noDataError{fmt.Errorf("%s: no %s and no files of records in it: give a run of prepare-data, a folder of one of its stages, or a folder of TFRecord files", location, ManifestName)}
}
