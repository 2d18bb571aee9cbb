package tokenize

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/internal/pyspace"
)

// The special tokens of BERT. A vocabulary may have them at any ids; see [ReadVocabWith]
// for vocabularies that lack some.
const (
	PadToken  = "[PAD]"
	UnkToken  = "[UNK]"
	ClsToken  = "[CLS]"
	SepToken  = "[SEP]"
	MaskToken = "[MASK]"
)

// SpecialTokens lists the special tokens, in the order in which trained
// vocabularies begin.
func SpecialTokens() []string {
	return []string{PadToken, UnkToken, ClsToken, SepToken, MaskToken}
}

const (
	maxVocabBytes    = 16 << 20 // 16 times BERT's largest vocabulary
	maxVocabProblems = 20       // maximum number of problems listed in an error; the rest are only counted
)

// A Vocab is a list of tokens. The id of a token is its index in the list, from
// 0. A Vocab is immutable and may be shared.
type Vocab struct {
	tokens  []string
	ids     map[string]int32
	subword []bool
	sha256  string

	pad, unk, cls, sep, mask int32
}

// LoadVocab reads a vocab.txt of at most 16 MiB; see [ReadVocab].
func LoadVocab(r io.Reader) (*Vocab, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxVocabBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read vocabulary: %w", err)
	}
	return ReadVocab("vocabulary", data)
}

// ReadVocab parses the content of a vocab.txt: UTF-8 with one token on each
// line. As in the reference, white space around a token (CR included) is
// removed as by Python's str.strip; the last line needs no line end; and an
// empty line is an entry with an id.
//
// ReadVocab rejects some files that the reference accepts:
//
//   - duplicate entries; the reference uses the last
//   - a missing special token; the reference fails later or never
//   - a byte order mark, invalid UTF-8, or an empty file
//
// The error lists the problems by line, each with name in front. Package internal/failure
// recognizes it as damaged data.
func ReadVocab(name string, data []byte) (*Vocab, error) {
	return ReadVocabWith(name, data, SpecialTokens()...)
}

// ReadVocabWith is [ReadVocab] for a vocabulary that must contain only the given special
// tokens, such as [UnkToken], without which no text can be encoded. The ids of missing
// special tokens are -1.
func ReadVocabWith(name string, data []byte, needed ...string) (*Vocab, error) {
	if len(data) > maxVocabBytes {
		return nil, vocabError{fmt.Errorf("%s: more than %d bytes: not a vocabulary", name, maxVocabBytes)}
	}
	if len(data) == 0 {
		return nil, vocabError{fmt.Errorf("%s: empty", name)}
	}
	sum := sha256.Sum256(data)
	v := &Vocab{sha256: hex.EncodeToString(sum[:])}
	problems := problemList{name: name}
	v.tokens = readTokens(data, &problems)
	v.index(needed, &problems)
	if err := problems.err(); err != nil {
		return nil, vocabError{err}
	}
	return v, nil
}

// A vocabError is the error for a file that is not a vocabulary.
type vocabError struct{ error }

func (e vocabError) Unwrap() error { return e.error }

// Damaged marks the error as damaged data, which determines the exit code.
func (vocabError) Damaged() bool { return true }

// NewVocab returns the vocabulary of the given tokens, under the rules of
// [ReadVocab]. Its SHA256 is the hash of a file with one token on each line.
func NewVocab(tokens []string) (*Vocab, error) {
	for i, token := range tokens {
		if strings.Contains(token, "\n") {
			return nil, fmt.Errorf("vocabulary: token %d %q: contains a line end", i, token)
		}
	}
	var file bytes.Buffer
	for _, token := range tokens {
		file.WriteString(token)
		file.WriteByte('\n')
	}
	return ReadVocab("vocabulary", file.Bytes())
}

// readTokens returns the lines of data as tokens, and adds a byte order mark
// and invalid UTF-8 to problems.
func readTokens(data []byte, problems *problemList) []string {
	text := string(data)
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		problems.add("line 1: byte order mark")
		text = rest
	}
	text = strings.TrimSuffix(text, "\n")
	tokens := make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.SplitSeq(text, "\n") {
		if !utf8.ValidString(line) {
			problems.add("line %d: %q: invalid UTF-8", len(tokens)+1, line)
		}
		tokens = append(tokens, pyspace.Strip(line))
	}
	return tokens
}

// index sets all fields that are derived from v.tokens. It adds duplicates, and needed
// special tokens that are missing, to problems.
func (v *Vocab) index(needed []string, problems *problemList) {
	v.ids = make(map[string]int32, len(v.tokens))
	v.subword = make([]bool, len(v.tokens))
	for id, token := range v.tokens {
		v.subword[id] = strings.HasPrefix(token, subwordPrefix)
		if first, ok := v.ids[token]; ok {
			problems.add("line %d: %q: already on line %d", id+1, token, first+1)
			continue
		}
		v.ids[token] = int32(id)
	}
	ids := []*int32{&v.pad, &v.unk, &v.cls, &v.sep, &v.mask} // in the order of SpecialTokens
	for k, token := range SpecialTokens() {
		id, ok := v.ids[token]
		if !ok {
			id = -1
			if slices.Contains(needed, token) {
				problems.add("%s is missing", token)
			}
		}
		*ids[k] = id
	}
}

// Len returns the number of tokens.
func (v *Vocab) Len() int { return len(v.tokens) }

// Sorted returns all ids in the order of the tokens' bytes.
func (v *Vocab) Sorted() []int32 { return sorted(v.tokens) }

// ID returns the id of a token. If the vocabulary does not contain the token,
// ok is false.
func (v *Vocab) ID(token string) (id int32, ok bool) {
	id, ok = v.ids[token]
	return id, ok
}

// Token returns the token with the given id. It panics if id is not between 0
// and Len()-1.
func (v *Vocab) Token(id int32) string { return v.tokens[id] }

// IsSubword reports whether the token with the given id continues a word
// (begins with "##"). The id must be between 0 and Len()-1.
func (v *Vocab) IsSubword(id int32) bool { return v.subword[id] }

// SHA256 returns the SHA-256 hash of the vocab.txt file, in lower-case hexadecimal.
func (v *Vocab) SHA256() string { return v.sha256 }

// PAD returns the id of [PAD]; -1 if there is none.
func (v *Vocab) PAD() int32 { return v.pad }

// UNK returns the id of [UNK].
func (v *Vocab) UNK() int32 { return v.unk }

// CLS returns the id of [CLS]; -1 if there is none.
func (v *Vocab) CLS() int32 { return v.cls }

// SEP returns the id of [SEP]; -1 if there is none.
func (v *Vocab) SEP() int32 { return v.sep }

// MASK returns the id of [MASK]; -1 if there is none.
func (v *Vocab) MASK() int32 { return v.mask }

// A problemList collects the problems of a file. It stores the first maxVocabProblems and
// counts the others.
type problemList struct {
	name string
	errs []error
	more int
}

func (p *problemList) add(format string, args ...any) {
	if len(p.errs) == maxVocabProblems {
		p.more++
		return
	}
	p.errs = append(p.errs, fmt.Errorf(p.name+": "+format, args...))
}

func (p *problemList) err() error {
	if p.more > 0 {
		return errors.Join(append(p.errs, fmt.Errorf("%s: %d more problems", p.name, p.more))...)
	}
	return errors.Join(p.errs...)
}

// Decode returns the text of ids without padding, [CLS] and [SEP]. It joins the pieces of
// each word, and puts a space between words.
func (v *Vocab) Decode(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		token := v.tokens[id]
		switch {
		case id == v.pad || id == v.cls || id == v.sep:
			continue
		case v.subword[id] && b.Len() > 0:
			token = strings.TrimPrefix(token, subwordPrefix)
		case b.Len() > 0:
			b.WriteByte(' ')
		}
		b.WriteString(token)
	}
	return b.String()
}
