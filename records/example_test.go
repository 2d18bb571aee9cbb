package records_test

import (
	"fmt"

	"pretext/records"
)

func Example() {
	e := records.Example{
		InputIDs:          []int32{101, 103, 102, 2088, 102, 0},
		InputMask:         []int32{1, 1, 1, 1, 1, 0},
		SegmentIDs:        []int32{0, 0, 0, 1, 1, 0},
		MaskedLMPositions: []int32{1, 0},
		MaskedLMIDs:       []int32{7592, 0},
		MaskedLMWeights:   []float32{1, 0},
		NextSentenceLabel: 0,
	}
	payload := e.Append(nil)
	fmt.Println(len(payload), "bytes")

	var back records.Example
	if err := back.Decode(payload); err != nil {
		fmt.Println(err)
	}
	fmt.Println(back.Tokens(), "tokens,", back.Predictions(), "prediction")

	back.MaskedLMPositions[0] = 2
	rules := records.Rules{MaxSeqLength: 6, MaxPredictionsPerSeq: 2, VocabSize: 30522, CLS: 101, SEP: 102}
	fmt.Println(rules.Check(&back))
	// Output:
	// 205 bytes
	// 5 tokens, 1 prediction
	// feature masked_lm_positions: value 0 is 2, the place of a special token
}

func ExampleFeatures() {
	e := records.Example{
		InputIDs: []int32{101, 5, 102, 6, 102}, InputMask: []int32{1, 1, 1, 1, 1}, SegmentIDs: []int32{0, 0, 0, 1, 1},
		MaskedLMPositions: []int32{1}, MaskedLMIDs: []int32{7}, MaskedLMWeights: []float32{1},
	}
	for f, err := range records.Features(e.Append(nil)) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(f.Name, f.Kind, f.Count)
	}
	// Output:
	// input_ids int64 5
	// input_mask int64 5
	// segment_ids int64 5
	// masked_lm_positions int64 1
	// masked_lm_ids int64 1
	// masked_lm_weights float 1
	// next_sentence_labels int64 1
}
