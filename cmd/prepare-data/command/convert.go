package command

import (
	"strings"

	"github.com/spf13/cobra"

	"pretext/pipeline"
	"pretext/pipeline/convert"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

func newConvert() *cobra.Command {
	var run runFlags
	var c convert.Config
	var maxRejects float64
	cmd := &cobra.Command{
		Use:   "convert SHARDS --to FORMAT --out DIR",
		Short: "Stage: shards to the format of another library",
		Long: `Writes the examples of finished shards in a format that other training libraries
read, with the same values in the same order:

  hdf5        BERT of NVIDIA's DeepLearningExamples: h5py.File(file)["input_ids"]
  lddl        NVIDIA's LDDL: Parquet with words, in files by length
  mds         MosaicML streaming: StreamingDataset(local="DIR")
  megatron    Megatron-LM: IndexedDataset("DIR/train-00000-of-00010")
  npy         NumPy arrays, one file per column: numpy.load(file, mmap_mode="r")
  parquet     Parquet with lists of numbers: datasets.load_dataset("DIR")
  webdataset  tar files of arrays: webdataset.WebDataset(files).decode()

TFRecord files without a manifest, such as those of Google's script, are converted
too: the train split, unless they are named eval-NNNNN-of-NNNNN.

hdf5 and lddl hold pairs of segments only, megatron only token ids of documents.
Each shard becomes files of the same name. If the shards have two splits and a
directory of the format has one (mds, lddl), they are written to DIR/train and
DIR/eval. Like every stage, an interrupted conversion resumes where it stopped,
and verify checks the result, value by value.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c.Shards = args[0]
			dirs, err := c.Directories(cmd.Context())
			if err != nil {
				return err
			}
			var stages []pipeline.StageSummary
			for _, dir := range dirs {
				s, err := pipeline.Summarize(sharding.StageConvert, dir.Out, func() (*sharding.Manifest, error) { return convert.Run(cmd.Context(), r, dir) })
				if err != nil {
					return run.report(cmd, err, stages...)
				}
				stages = append(stages, s)
			}
			return run.report(cmd, nil, stages...)
		},
	}
	run.add(cmd.Flags(), &c.Target, &maxRejects)
	cmd.Flags().StringVar(&c.Format, "to", "", "format to write: "+strings.Join(formats.Names(), ", ")+" (required)")
	cmd.Flags().StringVar(&c.Split, "split", "", "the only split to convert: train or eval; default: all")
	return cmd
}
