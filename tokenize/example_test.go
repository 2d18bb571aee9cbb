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
