package squad_test

import (
	"fmt"
	"log"
	"os"

	"pretext/tokenize"
	"pretext/trainer/finetune/squad"
)

// A model's logits become an answer. Here they are written by hand: the highest
// start and end stand on the third and fourth piece of the paragraph.
func Example() {
	const file = `{"data": [{"paragraphs": [{"context": "The cat sat down.", "qas": [{"id": "q1", "question": "What did it do?"}]}]}]}`
	data, err := squad.Read("questions.json", []byte(file))
	if err != nil {
		log.Fatal(err)
	}
	vocab, err := tokenize.NewVocab([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "down", ".", "what", "did", "it", "do", "?"})
	if err != nil {
		log.Fatal(err)
	}
	tok, err := tokenize.New(vocab, tokenize.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}
	features, err := squad.NewFeatures(data, tok.NewEncoder(), squad.DefaultOptions(), squad.Predict)
	if err != nil {
		log.Fatal(err)
	}
	predictor, err := squad.NewPredictor(features, squad.DefaultPredictOptions())
	if err != nil {
		log.Fatal(err)
	}
	window := features.Window(0)
	logits := make([]float32, 2*window.Tokens())
	logits[2*(window.Offset+2)], logits[2*(window.Offset+3)+1] = 9, 9
	if err := predictor.Take(0, logits); err != nil {
		log.Fatal(err)
	}
	if err := squad.WriteAnswers(os.Stdout, data, predictor.Predictions()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", squad.Compare("sat down", "Sat down!", false).F1)
	// Output:
	// {
	//     "q1": "sat down"
	// }
	// 1.00
}
