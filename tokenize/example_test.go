package tokenize_test

import (
	"fmt"
	"strings"

	"pretext/tokenize"
)

func Example() {
	vocab, err := tokenize.LoadVocab(strings.NewReader("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\n,\ncafe\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	tok, err := tokenize.New(vocab, tokenize.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	enc := tok.NewEncoder()
	fmt.Println(enc.AppendIDs(nil, "Unaffable café, naïve"))
	fmt.Println(enc.AppendTokens(nil, "Unaffable café, naïve"))
	// Output:
	// [5 6 7 9 8 1]
	// [un ##aff ##able cafe , [UNK]]
}

func ExampleEncoder_AppendOffsets() {
	vocab, err := tokenize.LoadVocab(strings.NewReader("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\ncafe\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	tok, err := tokenize.New(vocab, tokenize.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	text := "Unable Café"
	ids, spans := tok.NewEncoder().AppendOffsets(nil, nil, text)
	for i, s := range spans {
		fmt.Printf("%s %d-%d %s\n", vocab.Token(ids[i]), s.Start, s.End, text[s.Start:s.End])
	}
	// Output:
	// un 0-2 Un
	// ##able 2-6 able
	// cafe 7-12 Café
}
