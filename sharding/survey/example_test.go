package survey_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"pretext/records/tfrecord"
	"pretext/sharding/survey"
)

func ExampleCollect() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	frame := tfrecord.AppendFrame(nil, example(1).Append(nil))
	if err := os.WriteFile(filepath.Join(dir, "some.tfrecord"), frame, 0o666); err != nil {
		log.Fatal(err)
	}
	s, err := survey.Collect(context.Background(), dir, survey.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Records.Records, "record,", s.Records.Tokens, "tokens,", s.Records.MaskRate.Count, "predicted")
	// Output: 1 record, 7 tokens, 1 predicted
}
