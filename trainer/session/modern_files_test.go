package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records"
	"pretext/tokenize/hf"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// modernModel returns a small config.json of a vocabulary of the size, with dropout wherever
// the model has it and a window that is shorter than the examples.
func modernModel(size int) string {
	return fmt.Sprintf(`{"model_type": "modernbert", "vocab_size": %d, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
"local_attention": 6, "max_position_embeddings": 32, "initializer_range": 0.1, "embedding_dropout": 0.1, "attention_dropout": 0.1, "mlp_dropout": 0.1, "classifier_dropout": 0.1}`, size)
}

// modern makes the data of a run of a ModernBERT model on records of the form.
func modern(t *testing.T, o Options, form records.Form) Options {
	t.Helper()
	o = formed(t, o, form)
	if err := os.WriteFile(o.Model, []byte(modernModel(testVocab)), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// Pairs train masked LM alone, and nothing mentions next sentences. The folder has what
// transformers needs, and export, import and predictions take it.
func TestAModernModelHasNoNextSentences(t *testing.T) {
	o := modern(t, testOptions(t), records.Pairs)
	var log bytes.Buffer
	o.Log = &log
	end := mustTrain(t, o)
	metrics, err := os.ReadFile(filepath.Join(o.Out, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	if all := log.String() + end.Eval.String() + string(metrics); strings.Contains(all, "nsp") || !strings.Contains(all, "eval_mlm_loss") {
		t.Errorf("next sentences are mentioned, or the metrics lack something:\n%s", all)
	}
	exported, imported := filepath.Join(fastDir(t), "exported"), filepath.Join(fastDir(t), "imported")
	if err := Export(o.Out, exported, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(exported, "", imported, io.Discard); err != nil {
		t.Fatal(err)
	}
	f := files(t, exported)
	if diff := cmp.Diff(f, files(t, imported)); diff != "" {
		t.Errorf("an import is another model than the export:\n%.1000s", diff)
	}
	for _, want := range []string{`"ModernBertForMaskedLM"`, `"pad_token_id": 0,`, `"cls_token_id": 2,`, `"sep_token_id": 3,`, `"bos_token_id": 2,`, `"eos_token_id": 3`} {
		if !strings.Contains(f["config.json"], want) {
			t.Errorf("no %s in %s", want, f["config.json"])
		}
	}
	if strings.Contains(f["tokenizer_config.json"], "token_type_ids") || !strings.Contains(f["tokenizer_config.json"], "attention_mask") {
		t.Errorf("model_input_names: %s", f["tokenizer_config.json"])
	}
	file, err := hf.Load("tokenizer.json", []byte(f["tokenizer.json"]))
	if err != nil || file.Len() != testVocab || file.WordPiece() == nil {
		t.Errorf("tokenizer.json: %v", err)
	}
}

// Casing that the user gives is in tokenizer.json, from which transformers takes it.
func TestTheTokenizerOfAModernModelHasTheCasingOfTheRun(t *testing.T) {
	o := modernClassify(t)
	for _, lower := range []bool{true, false} {
		o.DoLowerCase, o.Out = &lower, filepath.Join(fastDir(t), "out")
		model := mustClassify(t, o).Model
		file, err := hf.Load("tokenizer.json", []byte(files(t, model)["tokenizer.json"]))
		if err != nil || file.WordPiece().Options().DoLowerCase != lower {
			t.Errorf("lower-casing %v: tokenizer.json has the other, %v", lower, err)
		}
		o.Model, o.VocabFile, o.Init = "", "", model // the file that is replaced next has the casing of this run
	}
}

// modernClassify is [fineClassify] with a ModernBERT model.
func modernClassify(t *testing.T) ClassifyOptions {
	t.Helper()
	o := fineClassify(t)
	if err := os.WriteFile(o.Model, []byte(modernModel(11)), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

// Two heads have the same name, and here the same shape: a model of one is none of the other.
func TestTheHeadOfAModernModelIsThatOfItsClass(t *testing.T) {
	classify := modernClassify(t)
	classes := mustClassify(t, classify).Model
	wantHeads(t, classes, trainer.Heads{Labels: 2})
	squad := fineSquad(t, classify.FinetuneOptions)
	squad.Model, squad.VocabFile, squad.Init, squad.Out = "", "", classes, filepath.Join(fastDir(t), "squad")
	var log bytes.Buffer
	squad.Log = &log
	result, err := FinetuneSquad(context.Background(), squad)
	if err != nil {
		t.Fatal(err)
	}
	wantHeads(t, result.Model, trainer.Heads{Span: true})
	if got := strings.Count(log.String(), "classifier."); got != 2 || strings.Contains(log.String(), "head.") {
		t.Errorf("the classifier of sequences became that of spans, or its transform did not:\n%s", &log)
	}

	var usage interface{ Usage() bool }
	squad.TrainFile, squad.Out = "", filepath.Join(fastDir(t), "untrained")
	if _, err := FinetuneSquad(context.Background(), squad); !errors.As(err, &usage) || !strings.Contains(err.Error(), "was not trained for this task") {
		t.Errorf("a classifier answers questions: %v", err)
	}
	squad.Windows.Pad = true
	if _, err := FinetuneSquad(context.Background(), squad); !errors.As(err, &usage) || !strings.Contains(err.Error(), "without padding") {
		t.Errorf("padded windows: %v", err)
	}
	for _, other := range []string{`"ModernBertForTokenClassification"`, ``} {
		if err := replaceIn(filepath.Join(classes, "config.json"), `"ModernBertForSequenceClassification"`, other); err != nil {
			t.Fatal(err)
		}
		m, err := checkpoint.OpenPretrained(classes)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if h, err := m.Heads(); err == nil || !strings.Contains(err.Error(), "architectures") {
			t.Errorf("architectures [%s]: heads %v, %v", other, h, err)
		}
		if err := replaceIn(filepath.Join(classes, "config.json"), "[\n    "+other+"\n", "[\n    \"ModernBertForSequenceClassification\"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func wantHeads(t *testing.T, model string, want trainer.Heads) {
	t.Helper()
	m, err := OpenModel(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if h, err := m.Heads(); err != nil || h != want {
		t.Errorf("%s: heads %v, %v, want %v", model, h, err, want)
	}
}

// replaceIn replaces a text of a file, which must be there.
func replaceIn(path, old, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(old)) {
		return fmt.Errorf("%s has no %s", path, old)
	}
	return os.WriteFile(path, bytes.Replace(b, []byte(old), []byte(text), 1), 0o600)
}

// A bare ModernBertModel has names without "model.", and torch.save repeats the decoder.
func TestNamesOfOtherModernFilesAreTaken(t *testing.T) {
	o := modern(t, testOptions(t), records.Masked)
	want := mustTrain(t, o).Model
	bare := filepath.Join(fastDir(t), "bare")
	m, err := OpenModel(want)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Write(bare, trainer.Heads{}, checkpoint.Tokenizer{}); err != nil {
		t.Fatal(err)
	}
	wantHeads(t, bare, trainer.Heads{})
	if err := replaceAll(filepath.Join(bare, "model.safetensors"), `"model.`, `      "`); err != nil {
		t.Fatal(err)
	}
	imported := filepath.Join(fastDir(t), "imported")
	if _, err := Import(bare, filepath.Join(want, "vocab.txt"), imported, io.Discard); err != nil {
		t.Fatal(err)
	}
	if f := files(t, imported); !strings.Contains(f["config.json"], `"ModernBertModel"`) || strings.Contains(f["model.safetensors"], "head.") ||
		!strings.Contains(f["model.safetensors"], "model.final_norm.weight") {
		t.Errorf("not the encoder alone: %s", f["config.json"])
	}
	o.Init, o.Model, o.Out, o.NumTrainSteps, o.NumWarmupSteps = imported, "", filepath.Join(fastDir(t), "next"), 1, 0
	var log bytes.Buffer
	o.Log = &log
	mustTrain(t, o)
	for _, name := range []string{"head.dense.weight", "head.norm.weight", "decoder.bias"} {
		if !strings.Contains(log.String(), name+" is not in "+imported+" and is newly initialized\n") {
			t.Errorf("%s: nothing of it in the log:\n%s", name, &log)
		}
	}
}

func replaceAll(path, old, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.ReplaceAll(b, []byte(old), []byte(text)), 0o600)
}

func TestAModernModelIsResumedAsItIsOnly(t *testing.T) {
	o := modern(t, testOptions(t), records.Masked)
	o.NumTrainSteps, o.NumWarmupSteps = 2, 0
	o.Schedule = string(trainer.Constant)
	mustTrain(t, o)
	o.NumTrainSteps = 3
	for change, want := range map[string]string{
		strings.Replace(modernModel(testVocab), `"local_attention": 6`, `"local_attention": 8`, 1):                "local_attention 6 there, 8 here",
		strings.Replace(modernModel(testVocab), `{`, `{"layer_types": ["full_attention", "full_attention"], `, 1): "layer_types",
		strings.Replace(modernModel(testVocab), `{`, `{"global_rope_theta": 5, `, 1):                              "rope_parameters",
		strings.Replace(modernModel(testVocab), `"mlp_dropout": 0.1`, `"mlp_dropout": 0`, 1):                      "mlp_dropout 0.1 there, 0 here",
		testModel: "ModernBERT there, BERT here",
	} {
		if err := os.WriteFile(o.Model, []byte(change), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Train(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := os.WriteFile(o.Model, []byte(modernModel(testVocab)), 0o600); err != nil {
		t.Fatal(err)
	}
	none := 0.0
	o.Dropout = &none
	if _, err := Train(context.Background(), o); err == nil || !strings.Contains(err.Error(), "other --dropout") {
		t.Errorf("other dropout: %v", err)
	}
	config, err := NamedConfig(o.Model, testVocab)
	if err != nil {
		t.Fatal(err)
	}
	still := o.ModelOptions.withDropout(config)
	if m := still.Modern; still.HiddenDropout != 0 || still.AttentionDropout != 0 || m.OutputDropout != 0 || m.FeedForwardDropout != 0 || config.Modern.OutputDropout == 0 {
		t.Errorf("--dropout 0 gives %+v and %+v, of %+v", still, m, config.Modern)
	}
	o.Dropout = nil
	mustTrain(t, o)
}

// Only transformers 5 can have any pattern of layers: training, fine-tuning, export and import
// warn.
func TestAPatternThatOlderTransformersLackIsAWarning(t *testing.T) {
	const want = "warning: the global layers are not at every n-th place"
	pattern := strings.Replace(modernModel(testVocab), "{", `{"layer_types": ["sliding_attention", "full_attention"], `, 1)
	o := modern(t, testOptions(t), records.Masked)
	o.NumTrainSteps, o.NumWarmupSteps = 1, 0
	for warns, config := range map[bool]string{true: pattern, false: modernModel(testVocab)} {
		if err := os.WriteFile(o.Model, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		var training, export, imports bytes.Buffer
		o.Log, o.Out = &training, filepath.Join(fastDir(t), "out")
		mustTrain(t, o)
		exported := filepath.Join(fastDir(t), "exported")
		if err := Export(o.Out, exported, &export); err != nil {
			t.Fatal(err)
		}
		if _, err := Import(exported, "", filepath.Join(fastDir(t), "imported"), &imports); err != nil {
			t.Fatal(err)
		}
		for name, log := range map[string]*bytes.Buffer{"train": &training, "export": &export, "import": &imports} {
			if strings.Contains(log.String(), want) != warns {
				t.Errorf("%s, want a warning: %v, got %q", name, warns, log)
			}
		}
	}
}
