package hf

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
	"pretext/tokenize/internal/onig"
)

// Limits of the normalizers and pre-tokenizers in a file, far above those in use.
const (
	maxNested   = 32      // depth of Sequence inside Sequence
	maxParts    = 256     // number of normalizers, and of pre-tokenizers
	maxPatterns = 1 << 15 // bytes of the patterns of Split and Replace
)

// A place is the nesting depth of a component in a file, with the number of parts and of
// pattern bytes that the file may still have.
type place struct {
	depth           int
	parts, patterns *int
}

// topPlace returns the place of the outermost normalizer or pre-tokenizer of a file.
func topPlace() place {
	parts, patterns := maxParts, maxPatterns
	return place{0, &parts, &patterns}
}

// inside returns the place of the components in a Sequence at p.
func (p place) inside() (place, error) {
	if p.depth++; p.depth > maxNested {
		return p, fmt.Errorf("more than %d inside each other", maxNested)
	}
	return p, nil
}

// part counts a component. It returns an error if there are too many.
func (p place) part() error {
	if *p.parts--; *p.parts < 0 {
		return fmt.Errorf("more than %d parts", maxParts)
	}
	return nil
}

// fields are the fields of a normalizer, a pre-tokenizer or a post-processor.
// A nil field is missing or null.
type fields struct {
	Type string `json:"type"`

	// Normalizers.
	Normalizers         []json.RawMessage `json:"normalizers"`
	StripLeft           *bool             `json:"strip_left"`
	StripRight          *bool             `json:"strip_right"`
	Pattern             *patternFile      `json:"pattern"`
	Content             *string           `json:"content"`
	Prepend             *string           `json:"prepend"`
	PrecompiledCharsMap *string           `json:"precompiled_charsmap"`

	// Pre-tokenizers.
	PreTokenizers    []json.RawMessage `json:"pretokenizers"`
	AddPrefixSpace   *bool             `json:"add_prefix_space"`
	UseRegex         *bool             `json:"use_regex"`
	Replacement      *string           `json:"replacement"`
	PrependScheme    *string           `json:"prepend_scheme"`
	Split            *bool             `json:"split"`
	Behavior         *string           `json:"behavior"`
	Invert           *bool             `json:"invert"`
	IndividualDigits *bool             `json:"individual_digits"`
	Delimiter        *string           `json:"delimiter"`
	Length           *int              `json:"length"`
}

// patternFile is the pattern that Split and Replace search for: a text or a regular
// expression.
type patternFile struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// compile compiles the pattern of a component at the given place.
func (p *patternFile) compile(at place) (*onig.Regexp, error) {
	if p == nil || (p.String == nil) == (p.Regex == nil) {
		return nil, fmt.Errorf("pattern: want String or Regex")
	}
	if *at.patterns -= len(text(p.String)) + len(text(p.Regex)); *at.patterns < 0 {
		return nil, fmt.Errorf("more than %d bytes of patterns", maxPatterns)
	}
	switch {
	case p.String != nil:
		return onig.Literal(*p.String)
	}
	return onig.Compile(*p.Regex)
}

// parseFields parses the fields of a component; nil if there is none. part is its name for
// errors.
func parseFields(part string, raw json.RawMessage) (*fields, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	f := &fields{}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, fmt.Errorf("%s: %w", part, err)
	}
	return f, nil
}

// newNormalizer returns the normalizer of a file; nil if it has none.
func newNormalizer(raw json.RawMessage, at place) (normalizer, error) {
	f, err := parseFields("normalizer", raw)
	if f == nil || err != nil {
		return nil, err
	}
	var n normalizer
	if err = at.part(); err == nil {
		n, err = f.normalizer(raw, at)
	}
	if err != nil {
		return nil, fmt.Errorf("normalizer %.40q: %w", f.Type, err)
	}
	return n, nil
}

// plainNormalizers are the normalizers without options.
var plainNormalizers = map[string]func() normalizer{
	"NFC": func() normalizer { return formOf("NFC") }, "NFD": func() normalizer { return formOf("NFD") },
	"NFKC": func() normalizer { return formOf("NFKC") }, "NFKD": func() normalizer { return formOf("NFKD") },
	"Lowercase": func() normalizer { return lowercase() }, "StripAccents": func() normalizer { return stripAccents() },
	"Nmt": func() normalizer { return nmt() }, "ByteLevel": func() normalizer { return byteChars{} },
}

func (f *fields) normalizer(raw json.RawMessage, at place) (normalizer, error) {
	if plain, ok := plainNormalizers[f.Type]; ok {
		return plain(), nil
	}
	switch f.Type {
	case "Sequence":
		return f.normalizers(at)
	case "BertNormalizer":
		return newBertNormalizer(raw)
	case "Strip":
		if f.StripLeft == nil || f.StripRight == nil {
			return nil, fmt.Errorf("strip_left or strip_right: missing")
		}
		return strip{*f.StripLeft, *f.StripRight}, nil
	case "Prepend":
		if f.Prepend == nil {
			return nil, fmt.Errorf("prepend: missing")
		}
		return prepend(*f.Prepend), nil
	case "Replace":
		return f.replace(at)
	case "Precompiled":
		if f.PrecompiledCharsMap == nil {
			return nil, fmt.Errorf("precompiled_charsmap: missing")
		}
		return newPrecompiled(*f.PrecompiledCharsMap)
	}
	return nil, fmt.Errorf("not supported")
}

func (f *fields) normalizers(at place) (normalizer, error) {
	at, err := at.inside()
	if err != nil {
		return nil, err
	}
	all := normalizers{}
	for _, raw := range f.Normalizers {
		n, err := newNormalizer(raw, at)
		if err != nil {
			return nil, err
		}
		if n == nil {
			return nil, fmt.Errorf("null in the sequence")
		}
		all = append(all, n)
	}
	return all, nil
}

func (f *fields) replace(at place) (normalizer, error) {
	pattern, err := f.Pattern.compile(at)
	if err != nil {
		return nil, err
	}
	if f.Content == nil {
		return nil, fmt.Errorf("content: missing")
	}
	r := &replace{pattern: pattern, content: *f.Content}
	if f.Pattern.String != nil {
		r.literal = *f.Pattern.String
	}
	return r, nil
}

func newBertNormalizer(raw json.RawMessage) (normalizer, error) {
	var b bertNormalizer
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, err
	}
	if b.CleanText == nil || b.HandleChineseChars == nil || b.Lowercase == nil {
		return nil, fmt.Errorf("clean_text, handle_chinese_chars or lowercase: missing")
	}
	all := normalizers{}
	if *b.CleanText {
		all = append(all, bertClean())
	}
	if *b.HandleChineseChars {
		all = append(all, bertChinese())
	}
	if b.StripAccents == nil && *b.Lowercase || b.StripAccents != nil && *b.StripAccents {
		all = append(all, bertAccents())
	}
	if *b.Lowercase {
		all = append(all, lowercase())
	}
	return all, nil
}

// newPretokenizer returns the pre-tokenizer of a file; nil if it has none.
func newPretokenizer(raw json.RawMessage, at place) (pretokenizer, error) {
	f, err := parseFields("pre_tokenizer", raw)
	if f == nil || err != nil {
		return nil, err
	}
	var p pretokenizer
	if err = at.part(); err == nil {
		p, err = f.pretokenizer(at)
	}
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer %.40q: %w", f.Type, err)
	}
	return p, nil
}

func (f *fields) pretokenizer(at place) (pretokenizer, error) {
	switch f.Type {
	case "Sequence":
		return f.sequence(at)
	case "BertPreTokenizer":
		return pretokenizers{&byClass{hfunicode.Get("rust:space"), removed}, &byClass{hfunicode.Get("rust:punctuation"), isolated}}, nil
	case "Whitespace":
		return &byRuns{hfunicode.Get("rust:word"), hfunicode.Get("rust:space")}, nil
	case "WhitespaceSplit":
		return &byClass{hfunicode.Get("rust:space"), removed}, nil
	case "Punctuation":
		b, err := f.behavior(isolated)
		return &byClass{hfunicode.Get("rust:punctuation"), b}, err
	case "Digits":
		return f.digits()
	case "CharDelimiterSplit":
		c, err := oneCharacter("delimiter", f.Delimiter)
		return &byClass{hfunicode.NewSet(hfunicode.Of(hfunicode.Range{First: c, Last: c})), removed}, err
	case "Split":
		return f.split(at)
	case "ByteLevel":
		if f.AddPrefixSpace == nil {
			return nil, fmt.Errorf("add_prefix_space: missing")
		}
		return &byteLevel{prefixSpace: *f.AddPrefixSpace, words: f.UseRegex == nil || *f.UseRegex}, nil
	case "Metaspace":
		return f.metaspace()
	case "UnicodeScripts":
		return &byScript{scriptNumber}, nil
	case "FixedLength":
		return f.fixedLength()
	}
	return nil, fmt.Errorf("not supported")
}

func (f *fields) digits() (pretokenizer, error) {
	if f.IndividualDigits == nil {
		return nil, fmt.Errorf("individual_digits: missing")
	}
	b := contiguous
	if *f.IndividualDigits {
		b = isolated
	}
	return &byClass{hfunicode.Get("rust:numeric"), b}, nil
}

func (f *fields) fixedLength() (pretokenizer, error) {
	n := 5 // the library's default
	if f.Length != nil {
		n = *f.Length
	}
	if n < 1 {
		return nil, fmt.Errorf("length %d: must be at least 1", n)
	}
	return byLength(n), nil
}

func (f *fields) sequence(at place) (pretokenizer, error) {
	at, err := at.inside()
	if err != nil {
		return nil, err
	}
	all := pretokenizers{}
	for _, raw := range f.PreTokenizers {
		p, err := newPretokenizer(raw, at)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, fmt.Errorf("null in the sequence")
		}
		all = append(all, p)
	}
	return all, nil
}

func (f *fields) behavior(none behavior) (behavior, error) {
	if f.Behavior == nil {
		return none, nil
	}
	b, ok := behaviors[*f.Behavior]
	if !ok {
		return 0, fmt.Errorf("behavior %.40q: not supported", *f.Behavior)
	}
	return b, nil
}

func (f *fields) split(at place) (pretokenizer, error) {
	pattern, err := f.Pattern.compile(at)
	if err != nil {
		return nil, err
	}
	if f.Behavior == nil || f.Invert == nil {
		return nil, fmt.Errorf("behavior or invert: missing")
	}
	b, err := f.behavior(removed)
	return &byPattern{pattern, b, *f.Invert}, err
}

func (f *fields) metaspace() (pretokenizer, error) {
	c, err := oneCharacter("replacement", f.Replacement)
	if err != nil {
		return nil, err
	}
	scheme := "always"
	if f.PrependScheme != nil {
		scheme = *f.PrependScheme
	}
	if scheme != "always" && scheme != "first" && scheme != "never" {
		return nil, fmt.Errorf("prepend_scheme %.40q: not supported", scheme)
	}
	if f.AddPrefixSpace != nil && !*f.AddPrefixSpace {
		if scheme != "never" {
			return nil, fmt.Errorf("add_prefix_space false and prepend_scheme %s contradict each other", scheme)
		}
	}
	return &metaspace{replacement: string(c), always: scheme == "always", first: scheme == "first", words: f.Split == nil || *f.Split}, nil
}

func oneCharacter(field string, s *string) (rune, error) {
	if s == nil || utf8.RuneCountInString(*s) != 1 {
		return 0, fmt.Errorf("%s: want one character", field)
	}
	r, _ := utf8.DecodeRuneInString(*s)
	return r, nil
}

// scriptNumbers returns the number of the script of each character for UnicodeScripts; 0
// for characters that may occur in any script.
var scriptNumbers = sync.OnceValue(func() map[rune]uint8 {
	numbers := map[rune]uint8{}
	for n, name := range hfunicode.Names("scripts:") {
		if strings.HasSuffix(name, ":any") {
			continue
		}
		for _, x := range ranges(name) {
			for c := x.First; c <= x.Last; c++ {
				numbers[c] = uint8(n)
			}
		}
	}
	return numbers
})

func scriptNumber(c rune) int { return int(scriptNumbers()[c]) }
