package vocab_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"pretext/tokenize/vocab"
)

func Example() {
	options := vocab.DefaultOptions()
	options.VocabSize = 36

	// Every task counts the words of its documents.
	var files []io.Reader
	for _, text := range []string{"A low sun, a lower moon.", "How low? The lowest."} {
		counts, err := vocab.NewCounts(options)
		if err != nil {
			fmt.Println(err)
			return
		}
		counts.Add(text)
		file := new(bytes.Buffer)
		if _, err := counts.WriteTo(file); err != nil {
			fmt.Println(err)
			return
		}
		files = append(files, file)
	}

	// One merges the counts and trains.
	tokens, err := vocab.Trainer{Options: options}.Vocabulary(context.Background(), vocab.Merge(files...))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tokens), strings.Join(tokens[:8], " "), "...", strings.Join(tokens[27:], " "))
	// Output: 32 [PAD] [UNK] [CLS] [SEP] [MASK] , . ? ... ##u ##w ##ow low lowe
}
