package command

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/hf"
)

func newTokenize() *cobra.Command {
	var jsonl bool
	var tokens pipeline.TokenFile
	opts := tokenize.DefaultOptions()
	cmd := &cobra.Command{
		Use:   "tokenize --vocab FILE",
		Short: "Filter: text to WordPiece tokens",
		Long: `Reads lines of text and writes their tokens, separated by spaces.
With --jsonl, each input line is {"text": …} or {"bytes_b64": …} (base64), and each
output line is {"tokens": [...], "ids": [...]}.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkTokenFile(cmd, tokens); err != nil {
				return err
			}
			if tokens == (pipeline.TokenFile{}) {
				return usagef("no vocabulary: give --vocab FILE or --tokenizer FILE")
			}
			if tokens.Vocab != "" && !cmd.Flags().Changed(lowerCaseFlag) && pipeline.IsCased(cmd.Context(), tokens.Vocab) {
				opts.DoLowerCase = false
			}
			if err := opts.Validate(); err != nil {
				return misuse(err)
			}
			names, enc, err := openTokenFile(tokens, opts)
			if err != nil {
				return err
			}
			if jsonl {
				return filterLines(cmd, func(v tokenizeIn) (o tokenizeOut, err error) {
					text := []byte(v.Text)
					if v.Bytes != nil {
						if text, err = base64.StdEncoding.DecodeString(*v.Bytes); err != nil {
							return o, err
						}
					}
					o = tokenizeOut{[]string{}, enc.AppendIDsBytes([]int32{}, text)}
					for _, id := range o.IDs {
						o.Tokens = append(o.Tokens, names.Token(id))
					}
					return o, spent(enc)
				})
			}
			var ids []int32
			return eachLine(cmd.InOrStdin(), cmd.OutOrStdout(), func(w *bufio.Writer, line []byte) error {
				ids = enc.AppendIDsBytes(ids[:0], line)
				if err := spent(enc); err != nil {
					return err
				}
				for i, id := range ids {
					if i > 0 {
						w.WriteByte(' ')
					}
					w.WriteString(names.Token(id))
				}
				return w.WriteByte('\n')
			})
		},
	}
	cmd.Flags().BoolVar(&jsonl, "jsonl", false, "read and write one JSON object per line")
	addTokenFile(cmd.Flags(), &tokens, "vocabulary file (vocab.txt); required without --tokenizer")
	cmd.Flags().BoolVar(&opts.DoLowerCase, lowerCaseFlag, opts.DoLowerCase, caseUsage)
	cmd.Flags().StringVar((*string)(&opts.Profile), "profile", string(opts.Profile), "tokenizer to reproduce: google, nvidia-pt or hf")
	return cmd
}

type tokenizeIn struct {
	Text  string
	Bytes *string `json:"bytes_b64"`
}

type tokenizeOut struct {
	Tokens []string `json:"tokens"`
	IDs    []int32  `json:"ids"`
}

// An idEncoder turns text into ids.
type idEncoder interface {
	AppendIDsBytes(dst []int32, text []byte) []int32
}

// spent returns the error for a text whose encoding would take too much time or memory.
func spent(enc idEncoder) error {
	if e, ok := enc.(*hf.Encoder); ok {
		return e.Err()
	}
	return nil
}

// openTokenFile reads a vocabulary or tokenizer.
func openTokenFile(f pipeline.TokenFile, opts tokenize.Options) (tokenNames, idEncoder, error) {
	if f.Tokenizer != "" {
		tok, err := loadFileTokenizer(f.Tokenizer)
		if err != nil {
			return nil, nil, err
		}
		return tok, tok.NewEncoder(), nil
	}
	tok, err := loadTokenizer(f.Vocab, opts)
	if err != nil {
		return nil, nil, err
	}
	return tok.Vocab(), tok.NewEncoder(), nil
}

func loadTokenizer(path string, opts tokenize.Options) (*tokenize.Tokenizer, error) {
	if err := cli.CheckVocab("vocab", path, "tokenizer"); err != nil {
		return nil, err
	}
	raw, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if err != nil {
		return nil, err
	}
	v, err := tokenize.ReadVocab(path, raw)
	if err != nil {
		return nil, fmt.Errorf("%w vocabulary: %w", sharding.ErrDamaged, err)
	}
	return tokenize.New(v, opts)
}
