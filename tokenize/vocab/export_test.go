package vocab

import (
	"context"
	"iter"
)

// Train learns a WordPiece vocabulary without temporary files.
func Train(ctx context.Context, words iter.Seq2[WordCount, error], o Options) ([]string, error) {
	return Trainer{Options: o}.Vocabulary(ctx, words)
}

// TrainTokenizer learns another model without temporary files.
func TrainTokenizer(ctx context.Context, words iter.Seq2[WordCount, error], o Options) ([]byte, int, error) {
	return Trainer{Options: o}.Tokenizer(ctx, words)
}

// Small returns a trainer with at most so many characters of words in memory,
// and lists of words of at most so many bytes in memory.
func (t Trainer) Small(symbols, memory int) Trainer {
	t.symbols, t.memory = symbols, memory
	return t
}
