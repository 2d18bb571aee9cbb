package hf

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// bpe is a model of type BPE.
type bpe struct {
	vocab  map[string]int32
	merges *pairTable
	chains *chains         // encodes a word without merging; nil if it cannot
	pairs  map[pair]merged // the merges, until prepare is called

	unk          int32 // noToken if there is none
	fuseUnk      bool
	ignoreMerges bool
	prefix       string           // prefix of every symbol except the first of a word
	suffix       string           // of the last symbol of a word
	bytes        []int32          // with byte_fallback, by byte: the id of its token; else nil
	raw          *[256][]byte     // if ByteLevel passes raw bytes: by byte, its character
	rawIDs       [256]int32       // with raw, by byte: the id of its character, or noToken
	words        map[string]int32 // with ignoreMerges: ids of words that are a token though merges do not make it of them
}

// A pair holds the ids of two neighbouring symbols of a word.
type pair struct{ left, right int32 }

// merged is the result of merging a pair: the rank of the merge and the id of
// the new symbol. The pair with the lowest rank is merged first.
type merged struct{ rank, id int32 }

// useRaw makes the model accept raw bytes, so that the pre-tokenizer ByteLevel need not
// replace them by characters. It returns false if the model cannot.
func (b *bpe) useRaw() bool {
	if b.prefix != "" || b.suffix != "" {
		return false
	}
	b.raw = new([256][]byte)
	for i := range b.raw {
		c := byteChar(byte(i))
		b.raw[i] = utf8.AppendRune(nil, c)
		b.rawIDs[i] = noToken
		if id, ok := b.vocab[string(c)]; ok {
			b.rawIDs[i] = id
		}
	}
	return true
}

// prepare makes what the model needs to encode words, once it is known whether they are raw
// bytes.
func (b *bpe) prepare() {
	b.chains = newChains(b, b.pairs)
	b.pairs = nil
	if !b.ignoreMerges {
		return
	}
	b.words = map[string]int32{}
	for token, id := range b.vocab {
		if b.chains != nil && b.chains.tokens[id].size > 0 {
			continue // its merges give it
		}
		if b.raw == nil {
			b.words[token] = id
		} else if word, ok := rawBytes(token); ok {
			b.words[word] = id
		}
	}
}

// appendIDs appends the ids of a word to dst.
func (b *bpe) appendIDs(m *worker, dst []int32, word string) []int32 {
	if len(b.words) > 0 {
		if id, ok := b.words[word]; ok {
			return append(dst, id)
		}
	}
	if b.chains != nil {
		if ids, ok := b.chains.appendIDs(m, dst, word); ok {
			return ids
		}
	}
	return b.appendMerged(m, dst, word)
}

// appendMerged appends the ids of a word to dst by merging its symbols.
func (b *bpe) appendMerged(m *worker, dst []int32, word string) []int32 {
	m.symbols = m.symbols[:0]
	var unknown bool // an unknown symbol is still to be added
	if b.raw != nil {
		unknown = b.addBytes(m, word)
	} else {
		unknown = b.addCharacters(m, word)
	}
	if unknown {
		m.add(b.unk)
	}
	return m.appendMerged(dst, b)
}

// addBytes adds the symbols of a word of raw bytes. unknown reports whether the unknown
// token is still to be added.
func (b *bpe) addBytes(m *worker, word string) (unknown bool) {
	for i := range len(word) {
		if id := b.rawIDs[word[i]]; id != noToken {
			unknown = b.known(m, unknown, id)
		} else {
			unknown = b.missing(m, unknown, string(b.raw[word[i]]))
		}
	}
	return unknown
}

// addCharacters adds the symbols of a word. unknown reports whether the unknown token is
// still to be added.
func (b *bpe) addCharacters(m *worker, word string) (unknown bool) {
	for i, r := range word {
		size := utf8.RuneLen(r)
		s := word[i : i+size]
		if b.prefix != "" || b.suffix != "" {
			if m.budget.spent() || !m.budget.take(len(b.prefix)+len(b.suffix)) {
				break
			}
			s = b.affixed(s, i == 0, i+size == len(word))
		}
		if id, ok := b.vocab[s]; ok {
			unknown = b.known(m, unknown, id)
		} else {
			unknown = b.missing(m, unknown, s)
		}
	}
	return unknown
}

// affixed returns a symbol with the prefix, unless it is the first of a word, and with the
// suffix, if it is the last.
func (b *bpe) affixed(s string, first, last bool) string {
	if !first {
		s = b.prefix + s
	}
	if last {
		s += b.suffix
	}
	return s
}

// known adds a symbol of the vocabulary, after the pending unknown token if unknown is
// true. It returns false: nothing is pending then.
func (b *bpe) known(m *worker, unknown bool, id int32) bool {
	if unknown {
		m.add(b.unk)
	}
	m.add(id)
	return false
}

// missing handles a symbol that the vocabulary does not have: it adds the tokens of its
// bytes, or makes the unknown token pending. It returns whether an unknown token is
// pending. As in the library, a pending unknown token comes after the bytes of the next
// symbol, and without an unknown token the symbol is lost.
func (b *bpe) missing(m *worker, unknown bool, s string) bool {
	if b.bytes != nil {
		all := true
		for i := range len(s) {
			all = all && b.bytes[s[i]] != noToken
		}
		if all {
			m.budget.grow(len(s) - utf8.UTFMax)
			for i := range len(s) {
				m.add(b.bytes[s[i]])
			}
			return unknown
		}
	}
	if b.unk == noToken {
		return unknown
	}
	if unknown && !b.fuseUnk {
		m.add(b.unk)
	}
	return true
}

// newBPE returns the model in a file, or an error that names the unsupported part.
func newBPE(m *modelFile) (*bpe, error) {
	vocab, err := m.ids()
	if err != nil {
		return nil, err
	}
	if m.Dropout != nil && *m.Dropout != 0 {
		return nil, errors.New("dropout: not supported, ids would be random")
	}
	if m.Merges == nil {
		return nil, errors.New("merges: missing")
	}
	b := &bpe{vocab: vocab, unk: noToken, fuseUnk: m.FuseUnk, ignoreMerges: m.IgnoreMerges}
	b.prefix, b.suffix = text(m.SubwordPrefix), text(m.EndOfWordSuffix)
	if m.UnkToken != nil {
		// The library fails when it meets the first unknown character.
		id, ok := vocab[*m.UnkToken]
		if !ok {
			return nil, fmt.Errorf("unk_token %q: not in the vocabulary", *m.UnkToken)
		}
		b.unk = id
	}
	if m.ByteFallback {
		b.bytes = byteTokens(vocab)
	}
	return b, b.readMerges(m)
}

// byteTokens returns, by byte, the id of its token <0x00> to <0xFF>, or noToken.
func byteTokens(vocab map[string]int32) []int32 {
	out := make([]int32, 256)
	for i := range out {
		out[i] = noToken
		if id, ok := vocab[fmt.Sprintf("<0x%02X>", i)]; ok {
			out[i] = id
		}
	}
	return out
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// readMerges resolves the merges and sets b.merges and b.pairs.
func (b *bpe) readMerges(m *modelFile) error {
	pairs, err := m.pairs()
	if err != nil {
		return err
	}
	resolved, err := resolveMerges(b.vocab, b.prefix, pairs)
	if err != nil {
		return err
	}
	b.merges = newPairTable(len(resolved))
	for p, to := range resolved {
		b.merges.set(p.left, p.right, to)
	}
	b.pairs = resolved
	return nil
}

// resolveMerges returns the rank and the result of each merge in pairs. prefix is the
// continuing_subword_prefix, or "".
func resolveMerges(vocab map[string]int32, prefix string, pairs [][2]string) (map[pair]merged, error) {
	merges := make(map[pair]merged, len(pairs))
	for rank, p := range pairs {
		left, ok1 := vocab[p[0]]
		right, ok2 := vocab[p[1]]
		if !ok1 || !ok2 || len(p[1]) < len(prefix) {
			return nil, fmt.Errorf("merge %d: %q and %q are not both in the vocabulary", rank, p[0], p[1])
		}
		id, ok := vocab[p[0]+p[1][len(prefix):]]
		if !ok {
			return nil, fmt.Errorf("merge %d: %q is not in the vocabulary", rank, p[0]+p[1][len(prefix):])
		}
		merges[pair{left, right}] = merged{int32(rank), id}
	}
	return merges, nil
}
