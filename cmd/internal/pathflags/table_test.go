//go:build unix

package pathflags

import "strings"

// A class is the kind of path that a flag takes.
type class string

const (
	input   class = "input"   // a file or folder that is read
	output  class = "output"  // a file that is written
	folder  class = "folder"  // a folder that is written to, and made if necessary
	cluster class = "cluster" // a path on other machines, refused without --runner flink
)

// A pathFlag is a flag that names a path.
type pathFlag struct {
	name  string
	class class
	takes []string // names of things that are right for it, or that only a server would refuse
}

// A command is a command line in which each of its path flags can be tested. NEW
// stands for a path that does not exist; other paths are those of the fixture.
type command struct {
	program string
	line    string // begins with the command's path
	flags   []pathFlag
}

func in(name string, takes ...string) pathFlag     { return pathFlag{name, input, takes} }
func out(name string, takes ...string) pathFlag    { return pathFlag{name, output, takes} }
func outDir(name string, takes ...string) pathFlag { return pathFlag{name, folder, takes} }

// Flags that several commands have.
var (
	workers = []pathFlag{in("cluster"), {"worker-program", cluster, nil}, {"worker-logs", cluster, nil}, {"worker-secret", cluster, nil}}
	// Temporary files go to any folder.
	stages  = append([]pathFlag{outDir("out"), outDir("temp-dir", "a link to nothing", "a folder of a data set")}, workers...)
	sources = []pathFlag{in("wiki-dump", "a user's file"), in("wiki-html", "a user's file", "a file of a data set"), in("books", "a user's file", "a file of a data set"), in("templates")}
	tokens  = []pathFlag{in("vocab"), in("tokenizer")}
	weights = []pathFlag{in("init"), in("model"), in("vocab-file")}
)

func join(lists ...[]pathFlag) (all []pathFlag) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// commands are those with path flags.
var commands = []command{
	{"prepare-data", "stats RUN", []pathFlag{in("config"), in("vocab"), out("out")}},
	{"prepare-data", "card RUN --out NEW", []pathFlag{out("out"), in("vocab")}},
	{"prepare-data", "head BARE", []pathFlag{in("vocab")}},
	{"prepare-data", "verify RUN", []pathFlag{in("documents")}},
	{"prepare-data", "export RUN --out NEW", []pathFlag{outDir("out"), in("documents")}},
	{"prepare-data", "export BARE --out NEW", []pathFlag{outDir("out"), in("vocab")}},
	{"prepare-data", "convert RUN/shards --to npy --out NEW", stages},
	{"prepare-data", "demo --out NEW", append([]pathFlag{outDir("out")}, workers...)},
	{"prepare-data", "doctor", []pathFlag{outDir("out", "a folder of a data set")}},
	{"prepare-data", "download --url https://127.0.0.1:1/x --set allow-private --set attempts=1 --offline --out NEW", stages},
	{"prepare-data", "extract --books BOOK --out NEW", join(stages, sources)},
	{"prepare-data", "filter RUN/documents --out NEW", stages},
	{"prepare-data", "vocab RUN/documents --out NEW", stages},
	{"prepare-data", "examples RUN/documents --vocab VOCAB --out NEW", join(stages, tokens, []pathFlag{in("text", "a user's file", "a file of a data set")})},
	{"prepare-data", "run --books BOOK --vocab VOCAB --out NEW", join(stages, sources, tokens)},
	{"prepare-data", "plan --books BOOK --vocab VOCAB --out NEW", join(stages, sources, tokens)},
	{"prepare-data", "man --out NEW", []pathFlag{outDir("out", "a folder of a data set")}},
	{"prepare-data", "templates", []pathFlag{in("templates")}},
	{"prepare-data", "templates collect --wiki-dump DUMP --out NEW", []pathFlag{out("out"), in("wiki-dump")}},
	{"prepare-data", "templates check --wiki-html HTML --out NEW", []pathFlag{out("out"), in("templates"), in("wiki-html")}},
	{"prepare-data", "templates learn --wiki-html HTML --out NEW", []pathFlag{out("out"), out("pairs"), in("templates"), in("wiki-html")}},
	{"prepare-data", "text", []pathFlag{in("templates")}},
	{"prepare-data", "tokenize --vocab VOCAB", tokens},
	{"prepare-data", "worker --pool", []pathFlag{{"secret", cluster, nil}, {"worker-logs", cluster, nil}}},

	{"train-bert", "bench --seconds 0.01 --model MODEL/config.json", []pathFlag{in("config"), in("model"), in("simulate")}},
	{"train-bert", "bench --seconds 0.01 --model MODEL/config.json --data BARE --vocab VOCAB", []pathFlag{in("data", "a file of a data set"), in("vocab"),
		outDir("cache", "a folder of a data set")}},
	{"train-bert", "curve MODEL --out NEW.svg", []pathFlag{out("out")}},
	{"train-bert", "demo --out NEW --num-train-steps 1", []pathFlag{outDir("out"), in("data")}},
	{"train-bert", "eval MODEL --data BARE --vocab VOCAB", []pathFlag{in("data"), in("vocab"), outDir("cache", "a folder of a data set")}},
	{"train-bert", "export MODEL --out NEW", []pathFlag{outDir("out")}},
	{"train-bert", "import MODEL --out NEW", []pathFlag{outDir("out"), in("vocab")}},
	{"train-bert", "man --out NEW", []pathFlag{outDir("out", "a folder of a data set")}},
	{"train-bert", "predict MODEL --text [MASK]", []pathFlag{in("vocab-file")}},
	{"train-bert", "train --data BARE --vocab VOCAB --model MODEL/config.json --num-train-steps 1 --out NEW", []pathFlag{in("data"), in("eval-data"), in("vocab"), in("model"),
		in("init"), in("resume-from"), in("replay-rates"), outDir("out"), outDir("cache", "a folder of a data set")}},
	{"train-bert", "finetune classify --init MODEL --task sst-2 --data-dir RUN --out NEW", join(weights, []pathFlag{in("data-dir"), outDir("out")})},
	{"train-bert", "finetune squad --init MODEL --train-file SQUAD --out NEW", join(weights, []pathFlag{in("train-file"), in("predict-file"), outDir("out")})},
	{"train-bert", "finetune score --data SQUAD --predictions ANSWERS", []pathFlag{in("data"), in("predictions"), in("null-odds")}},
}

// words are the flags with a text value that is not a path.
var words = strings.Fields(`license name endpoint metrics-listen flink-rest runner split to for int worker-pool tokenizer-profile allow-host contact gutenberg mirror sha256 url wiki
	wiki-layout compression epochs format language nsp-negatives recipe sentence-splitter text-field weight column expand-templates math dedup quality rule encoding
	color preset model-name lang wiki-name title profile remake set listen device isa precision mask-token-prob masked-lm-prob random-token-prob label-column labels pair-column
	task text-column context pair question serve decay-shape dropout on-damage optimizer schedule`)

// wordsOf are flags that take a path in other commands, and none in these.
var wordsOf = map[string]string{"prepare-data run model": "", "prepare-data plan model": "", "prepare-data vocab model": "", "train-bert predict text": ""}
