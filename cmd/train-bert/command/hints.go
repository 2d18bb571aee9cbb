package command

import "pretext/cmd/internal/cli"

// hints returns the flags and commands of other tools (run_pretraining.py, scripts of
// Hugging Face and PyTorch) with their names in this program.
func hints() cli.Hints {
	h := cli.Hints{
		Flags: map[string]string{
			"model-name-or-path":          "a new model is --model SIZE, the weights of another one are --init FOLDER; eval, predict and export take MODEL without a flag",
			"bert-config-file":            "--model FILE, the config.json",
			"config-name":                 "--model FILE, the config.json",
			"num-train-epochs":            "--num-train-steps: epochs × examples / --train-batch-size",
			"epochs":                      "--num-train-steps: epochs × examples / --train-batch-size",
			"gradient-accumulation-steps": "--micro-batch-tokens, the part of --train-batch-size that is computed at once",
			"accumulate-gradients":        "--micro-batch-tokens, the part of --train-batch-size that is computed at once",
			"fp16":                        "--precision fp16", "bf16": "--precision bf16",
			"no-cuda": "--device cpu", "gpu": "--device cuda", "gpus": "--device cuda, and --nproc N for N GPUs", "use-gpu": "--device cuda", "cuda": "--device cuda",
			"warmup-ratio":           "--num-warmup-steps, in steps; -1: a tenth of all",
			"resume":                 "the same command resumes a stopped run: leave it out",
			"resume-from-checkpoint": "the same command resumes a stopped run; --resume-from takes the checkpoint of another one",
			"overwrite-output-dir":   "give another --out: a run is never overwritten",
			"do-train":               "leave it out: train trains, and evaluates at every checkpoint",
			"do-eval":                "leave it out: train evaluates at every checkpoint, eval a model",
			"logging-steps":          "leave it out: metrics.jsonl has every step",
			"eval-steps":             "--save-checkpoints-steps: each checkpoint is evaluated",
			"evaluation-strategy":    "--save-checkpoints-steps: each checkpoint is evaluated",
			"dataset-name":           "--data DIR, which prepare-data writes",
			"max-steps-per-epoch":    "--num-train-steps",
			"masked-lm-probability":  "--masked-lm-prob",
		},
		Commands: map[string]string{
			"prepare": "prepare-data run makes the data", "tokenize": "prepare-data tokenize does that", "download": "prepare-data download does that",
			"convert": "train-bert import reads other models, train-bert export writes one for transformers",
			"verify":  "prepare-data verify checks data; opening a checkpoint checks it", "squad": "it is a task: train-bert finetune squad",
			"classify": "it is a task: train-bert finetune classify", "score": "it is train-bert finetune score", "glue": "it is train-bert finetune classify",
		},
	}
	h.Same(sameFlags(), sameCommands())
	return h
}

// sameFlags maps flags of this program to their names in other tools.
func sameFlags() map[string][]string {
	return map[string][]string{
		"out":                    {"output", "output-dir", "save-dir", "checkpoint-dir"},
		"data":                   {"input-file", "input", "train-data", "train-file", "data-dir", "data-path", "dataset", "shards", "train-files"},
		"eval-data":              {"validation-file", "eval-file", "valid-data", "validation-data"},
		"init":                   {"init-checkpoint", "pretrained", "from-pretrained", "checkpoint", "weights"},
		"train-batch-size":       {"per-device-train-batch-size", "per-gpu-train-batch-size", "batch-size", "batch", "global-batch-size", "bs"},
		"num-train-steps":        {"max-steps", "steps", "num-steps", "total-steps", "train-iters", "iterations"},
		"num-warmup-steps":       {"warmup-steps", "warmup"},
		"learning-rate":          {"lr", "learningrate"},
		"schedule":               {"lr-scheduler-type", "lr-scheduler", "lr-decay-style"},
		"save-checkpoints-steps": {"save-steps", "save-interval", "checkpoint-steps"},
		"keep":                   {"save-total-limit", "max-to-keep", "keep-checkpoint-max"},
		"masked-lm-prob":         {"mlm-probability", "mlm-prob"},
		"readers":                {"num-workers", "dataloader-num-workers", "workers"},
		"vocab":                  {"vocab-file", "tokenizer-name", "tokenizer"},
		"vocab-file":             {"vocab", "tokenizer-name", "tokenizer"},
		"optimizer":              {"optim"},
		"max-grad-norm":          {"clip-grad", "gradient-clip-val", "clip"},
		"nproc":                  {"nproc-per-node", "num-processes", "num-gpus"},
		"threads":                {"num-threads", "cpus"},
		"max-seq-length":         {"max-length", "seq-length", "seq-len", "block-size"},
		"zero1":                  {"zero", "zero-stage", "fsdp"},
	}
}

// sameCommands maps commands to other words for what they do.
func sameCommands() map[string][]string {
	return map[string][]string{
		"train":    {"pretrain", "run", "fit", "start", "resume", "continue"},
		"finetune": {"fine-tune", "tune"},
		"eval":     {"evaluate", "test", "validate", "perplexity"},
		"predict":  {"serve", "infer", "inference", "fill-mask", "generate", "run-model", "answer"},
		"export":   {"save", "to-hf"},
		"import":   {"load", "from-hf"},
		"curve":    {"plot", "chart", "graph", "loss"},
		"bench":    {"benchmark", "speed", "measure"},
		"doctor":   {"check", "gpu", "devices", "nvidia-smi"},
	}
}
