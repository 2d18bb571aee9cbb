package hf_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/internal/usage"
	"pretext/tokenize/hf"
)

// Limits of a hostile tokenizer: it is loaded and encodes all of hostileTexts.
const (
	hostileCPU    = 5 * time.Second
	hostileMemory = 300 << 20
	hostileCases  = 200
)

// hostileVariable makes this test binary work on one hostile tokenizer.
const hostileVariable = "PRETEXT_TEST_HOSTILE"

// hostileTexts are texts of 64 KB and less.
func hostileTexts() []string {
	repeat := func(s string) string { return strings.Repeat(s, 1<<16/len(s)) }
	return []string{
		repeat("a"), repeat("a") + "b", repeat(" "), repeat(" ") + "b", repeat("ab "), repeat("aaaaaaaaaaaaaaaaaaaaaaaa "), repeat("\ufdfa"),
		repeat("e\u0301\u0323"), repeat("\u0301"), repeat("世界"), repeat("<x> "), repeat("\n"), "a", "",
	}
}

// component is a JSON object of a given type.
type component = map[string]any

func of(kind string, fields component) component {
	fields["type"] = kind
	return fields
}

// hostilePatterns are expressions that take long, or much memory.
var hostilePatterns = []string{
	`(a+)+$`, `(a|a)*$`, `(a|aa)+$`, `(?:a?){60}a{60}`, `(.*)(.*)(.*)(.*)x`, `(?=(a+)+$)a|b`, `(?<=(?:a?){20}a{20})b`, `(?>(a+)+)$`, `\s+$`, `(\s*\S*)+?$`,
	`a*`, `(?!(a+)+b)a`, `(?:(?=.*x)|(?=.*y)|.)z`, `.*?.*?.*?b`, `((a{1,30}){1,30}){1,15}c`, `[\p{L}\p{M}]+[^\p{L}]+$`, `(?i:a+b?)+$`, `\R+$|\b\B|^`,
}

// A forge makes hostile parts of a tokenizer.json.
type forge struct {
	*rand.Rand
	room *int // bytes that the file may still have, about
}

func (f forge) pick(from ...func() any) any { return from[f.IntN(len(from))]() }

func (f forge) pattern() string {
	switch f.IntN(6) {
	case 0: // large to compile
		return strings.Repeat("(", 1+f.IntN(90)) + "a|" + strings.Repeat("){0,9}", 1+f.IntN(30))
	case 1:
		return strings.Repeat([]string{`\p{L}x|`, `ab|`, `[a-c]+|`, `(?=a)b|`}[f.IntN(4)], 1+f.IntN(9000)) + "z"
	case 2: // random nesting
		s := "a"
		for range f.IntN(40) {
			s = "(" + s + []string{"b|a", "a", "|b", "b?"}[f.IntN(4)] + ")" + []string{"+", "*", "?", "{1,4}", "+?", "++"}[f.IntN(6)]
		}
		return s + "$"
	}
	return hostilePatterns[f.IntN(len(hostilePatterns))]
}

func (f forge) look() component {
	if f.IntN(3) == 0 {
		return component{"String": f.fits([]string{"a", "", " ", strings.Repeat("a", 1+f.IntN(1<<15))}[f.IntN(4)])}
	}
	return component{"Regex": f.fits(f.pattern())}
}

func (f forge) long() string {
	return f.fits(strings.Repeat([]string{"a", "▁", "aab ", "\ufdfa"}[f.IntN(4)], 1<<f.IntN(18)))
}

// fits returns s if the file has room for it, else a short text.
func (f forge) fits(s string) string {
	if *f.room -= len(s); *f.room < 0 {
		return "aa"
	}
	return s
}

func (f forge) normalizer(depth int) any {
	return f.pick(
		func() any { return nil },
		func() any { return of("Replace", component{"pattern": f.look(), "content": f.long()}) },
		func() any { return of("Replace", component{"pattern": component{"String": "a"}, "content": "aa"}) },
		func() any { return of("Prepend", component{"prepend": f.long()}) },
		func() any {
			return of([]string{"ByteLevel", "NFKD", "NFC", "Lowercase", "Nmt"}[f.IntN(5)], component{})
		},
		func() any { return of("Precompiled", component{"precompiled_charsmap": charsmapOf(f.long())}) },
		func() any {
			return of("Sequence", component{"normalizers": f.chain(depth, func() any { return f.normalizer(depth + 1) })})
		},
	)
}

func (f forge) pretokenizer(depth int) any {
	return f.pick(
		func() any {
			return of("Split", component{"pattern": f.look(), "behavior": []string{"Isolated", "MergedWithNext", "Contiguous"}[f.IntN(3)], "invert": f.IntN(2) == 0})
		},
		func() any { return of("ByteLevel", component{"add_prefix_space": true, "use_regex": f.IntN(2) == 0}) },
		func() any {
			return of("Metaspace", component{"replacement": []string{"▁", " ", "a", "😀"}[f.IntN(4)]})
		},
		func() any { return of("FixedLength", component{"length": 1 + f.IntN(3)}) },
		func() any { return of("UnicodeScripts", component{}) },
		func() any {
			return of("Sequence", component{"pretokenizers": f.chain(depth, func() any { return f.pretokenizer(depth + 1) })})
		},
	)
}

// chain is a sequence of one component repeated, or of different ones.
func (f forge) chain(depth int, one func() any) (all []any) {
	all = []any{}
	if depth > 6 {
		return all
	}
	n := 1 << f.IntN(14-2*depth)
	room := *f.room
	part := one()
	cost := 50 + room - *f.room
	for len(all) < n && *f.room > cost {
		if n <= 16 {
			part = one()
		}
		if *f.room -= cost; part != nil {
			all = append(all, part)
		}
	}
	return all
}

func (f forge) model() component {
	vocab := component{"[UNK]": 0, "a": 1, "b": 2, "##a": 3, "▁": 4, " ": 5}
	for i := range 256 {
		vocab[fmt.Sprintf("<0x%02X>", i)] = 6 + i
	}
	add := func(token string) {
		if _, ok := vocab[token]; !ok {
			vocab[token] = len(vocab)
		}
	}
	switch f.IntN(5) {
	case 0:
		merges := []any{}
		for n := 1; n <= 1<<f.IntN(10); n *= 2 {
			add(strings.Repeat("a", 2*n))
			merges = append(merges, []string{strings.Repeat("a", n), strings.Repeat("a", n)})
		}
		return of("BPE", component{"vocab": vocab, "merges": merges, "unk_token": "[UNK]", "byte_fallback": f.IntN(2) == 0, "fuse_unk": f.IntN(2) == 0, "ignore_merges": f.IntN(2) == 0})
	case 1:
		return of("BPE", component{"vocab": vocab, "merges": []any{}, "continuing_subword_prefix": f.long(), "end_of_word_suffix": f.long(), "byte_fallback": true})
	case 2:
		list := [][]any{{"[UNK]", 0}}
		for n := 1; n < 1<<f.IntN(12); n += 1 + f.IntN(3) {
			list = append(list, []any{strings.Repeat("a", n), -float64(n)})
		}
		return of("Unigram", component{"vocab": list, "unk_id": 0, "byte_fallback": f.IntN(2) == 0})
	case 3:
		for range 20 {
			add(strings.Repeat("a", 1+f.IntN(1<<f.IntN(16))) + "c")
		}
		return of("WordPiece", component{"vocab": vocab, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 1 << f.IntN(30)})
	}
	vocab["far"] = 1 << f.IntN(26)
	return of("WordLevel", component{"vocab": vocab, "unk_token": "[UNK]"})
}

func (f forge) added(from int) (all []any) {
	for i := range []int{0, 0, 1, 3, 1000}[f.IntN(5)] {
		content := []string{"<x>", " x", "aa", strings.Repeat("a", 1<<f.IntN(17)) + "b", "\n"}[f.IntN(5)]
		if i > 0 {
			content += fmt.Sprint(i)
		}
		all = append(all, component{"id": from + i, "content": content, "lstrip": f.IntN(2) == 0, "rstrip": f.IntN(2) == 0, "normalized": f.IntN(2) == 0, "single_word": f.IntN(4) == 0})
	}
	return all
}

// nested is an object of one type inside another, n times.
func nested(kind, field string, n int) json.RawMessage {
	open := fmt.Sprintf(`{"type": %q, %q: [`, kind, field)
	return json.RawMessage(strings.Repeat(open, n) + strings.Repeat("]}", n))
}

// hostile returns the tokenizer.json of a seed.
func hostile(seed uint64) []byte {
	room := 4 << 20
	f := forge{rand.New(rand.NewPCG(seed, 25)), &room}
	model := f.model()
	size := 0
	switch vocab := model["vocab"].(type) {
	case component:
		size = len(vocab)
	case [][]any:
		size = len(vocab)
	}
	file := component{
		"version": "1.0", "added_tokens": f.added(size), "normalizer": f.normalizer(0), "pre_tokenizer": f.pretokenizer(0), "model": model,
		"post_processor": nested("Sequence", "processors", f.IntN(3000)), "decoder": nested("Sequence", "decoders", f.IntN(3000)),
	}
	data, err := json.Marshal(file)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return data
}

// charsmapOf returns a precompiled_charsmap that replaces "a" by a text.
func charsmapOf(text string) string {
	trie := make([]uint32, 1<<9)
	const first, leaf = 1, 2
	trie[0] = first << 10
	trie[first^'a'] = (first^'a'^leaf)<<10 | 1<<8 | 'a'
	trie[leaf] = 1 << 31
	out := binary.LittleEndian.AppendUint32(nil, uint32(4*len(trie)))
	for _, unit := range trie {
		out = binary.LittleEndian.AppendUint32(out, unit)
	}
	return base64.StdEncoding.EncodeToString(append(out, text...))
}

// A hostileResult is what a process says of a hostile tokenizer.
type hostileResult struct {
	CPU     time.Duration
	Memory  int64
	Refused string // why the file was not loaded
	Spent   bool   // whether a text was too much, which ended the work
}

// workOn loads a hostile tokenizer and encodes texts, in an order of its own.
func workOn(seed uint64) (r hostileResult) {
	data := hostile(seed)
	before := usage.CPU()
	defer func() { r.CPU, r.Memory = usage.CPU()-before, usage.PeakMemory() }()
	tok, err := hf.Load("hostile.json", data)
	if err != nil {
		r.Refused = err.Error()
		return r
	}
	enc, texts := tok.NewEncoder(), hostileTexts()
	for _, i := range rand.New(rand.NewPCG(seed, 26)).Perm(len(texts))[:8] {
		ids := enc.AppendIDs(nil, texts[i])
		if r.Spent = enc.Err() != nil; r.Spent {
			break // as the programs do
		}
		tok.Decode(ids)
	}
	return r
}

// Whatever a tokenizer.json has, loading it and encoding texts takes bounded time and
// memory.
func TestHostileTokenizersTakeLittleTimeAndMemory(t *testing.T) {
	if s := os.Getenv(hostileVariable); s != "" {
		var seed uint64
		fmt.Sscan(s, &seed)
		if err := json.NewEncoder(os.Stdout).Encode(workOn(seed)); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	spent, refused := 0, 0
	for seed := range uint64(torture.Cases(4, hostileCases)) {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hostileVariable, seed))
		out, err := cmd.CombinedOutput()
		var r hostileResult
		if err == nil {
			err = json.Unmarshal(out, &r)
		}
		if err != nil {
			t.Errorf("seed %d: %v: %.2000s", seed, err, out)
			continue
		}
		if r.CPU > hostileCPU || r.Memory > hostileMemory {
			t.Errorf("seed %d: %v of CPU, %d MB; a text was too much: %v; %.200s", seed, r.CPU, r.Memory>>20, r.Spent, r.Refused)
		}
		t.Logf("seed %d: %v of CPU, %d MB; a text was too much: %v; %.200s", seed, r.CPU, r.Memory>>20, r.Spent, r.Refused)
		if r.Refused != "" {
			refused++
		} else if r.Spent {
			spent++
		}
	}
	if torture.Full() && (spent < hostileCases/10 || refused > hostileCases*3/4) {
		t.Errorf("%d files refused, %d with spent budgets: they are not hostile enough", refused, spent)
	}
}
