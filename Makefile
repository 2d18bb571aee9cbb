# What there is to run; .ci/run calls test and check.
PY      := .venv/bin/python
PEERS   := .venv-peers/bin/python
TORCH   := .venv-torch/bin/python
NEWEST  := .venv-newest/bin/python
DEMO    := .venv/demo
BENCHTORCH := .venv-bench/bin/python
MODELS  := .venv-torch/models
NVRTC   := .venv-nvrtc/bin/python
NVRTCCHECK := .venv-nvrtc-check/bin/python
HEADERS := .venv-cuda-headers
FUZZTIME ?= 5s

.PHONY: build build-cuda gpu-pack gpu-rehearse test check format vet lint deadcode race generated ptx ptx-check cuda-constants fuzz interop interop-tokenizers interop-torch interop-formats interop-finetune interop-folders bench bench-against bench-peers bench-torch bench-packages bench-scale clean

build: ## static release binaries
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/ ./cmd/prepare-data ./cmd/train-bert

# train-bert for NVIDIA GPUs. It needs a C compiler to build and glibc to run, and
# nothing of NVIDIA's before it opens a GPU; without one it computes on the processor.
build-cuda:
	CGO_ENABLED=1 go build -tags osusergo,netgo -trimpath -ldflags='-s -w' -o bin/train-bert ./cmd/train-bert

test:
	go test ./...

check: format vet lint deadcode generated ptx-check cuda-constants gpu-rehearse race interop interop-tokenizers interop-torch interop-formats interop-finetune interop-folders

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet:
	go vet ./...

lint:
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# Functions that no program reaches, but for those that internal/deadcode.txt allows.
deadcode:
	internal/deadcode.sh

# Generated files must be what their generators write. (The words of
# extract/wiki/wikitext come from MediaWiki's message files, which are not here.)
generated: $(NVRTC)
	go generate ./cmd/internal/gencommands ./trainer/cuda/kernels ./tokenize ./trainer/cpu/internal/kernel ./internal/democorpus ./cmd/train-bert/internal/demoshards
	git diff --exit-code

# The kernels' PTX is what this NVRTC writes: one version, so that it is the same
# everywhere. It is committed, and no GPU is needed.
ptx: $(NVRTC)
	go generate ./trainer/cuda/kernels

# Machine code for two chips, by a newer NVRTC: no kernel may have a stack or spill.
ptx-check: $(NVRTCCHECK)
	$(NVRTCCHECK) trainer/cuda/kernels/nvrtc.py check auto

# The constants, types and prototypes that trainer/cuda/driver declares are those of
# NVIDIA's headers. They come in the packages of the libraries: 610 MB to download,
# half a minute; what is not a header is deleted.
cuda-constants: $(HEADERS)/nvidia/nccl
	gcc -fsyntax-only -Wall $(addprefix -I$(HEADERS)/nvidia/,cuda_runtime/include cublas/include nccl/include cuda_nvcc/include cuda_cccl/include) trainer/cuda/driver/headers/check.c

$(HEADERS)/nvidia/nccl:
	rm -rf $(HEADERS) && python3 -m venv $(HEADERS)
	$(HEADERS)/bin/pip install --quiet --no-deps --no-compile --target $(HEADERS)/packages nvidia-cublas-cu12==12.6.4.1 nvidia-nccl-cu12==2.21.5 nvidia-cuda-runtime-cu12==12.6.77 nvidia-cuda-nvcc-cu12==12.6.77 nvidia-cuda-cccl-cu12==12.6.77
	find $(HEADERS)/packages -type f -not -path '*/include/*' -delete
	mv $(HEADERS)/packages/nvidia $(HEADERS)/nvidia

$(NVRTC):
	python3 -m venv .venv-nvrtc
	.venv-nvrtc/bin/pip install --quiet nvidia-cuda-nvrtc-cu12==12.1.105

$(NVRTCCHECK):
	python3 -m venv .venv-nvrtc-check
	.venv-nvrtc-check/bin/pip install --quiet nvidia-cuda-nvrtc-cu12==12.6.85

# What is found by numbers, damage and cancelled runs, is left to the tests.
race:
	PRETEXT_DAMAGE=50 PRETEXT_SIGNALS=5 go test -race -short ./internal/store ./sharding/... ./pipeline ./trainer ./trainer/loader ./trainer/cpu ./trainer/finetune/predict ./cmd/train-bert/internal/serve

# What the driver of a stage does alone, for 10,000,000 blocks and 100,000 shards.
bench-scale:
	go run ./internal/bench/scale

# Every fuzz target for FUZZTIME, on one processor each. The seeds and all earlier
# findings run with the tests. FUZZBELOW=extract takes a part.
fuzz:
	@internal/fuzzall.sh $(FUZZTIME) $(FUZZBELOW)

# The tests of faults as long as it takes to trust the result, where go test runs
# a share: kills, failpoints, signals, full disks, damage, hostile files; hours.
# A failure prints the PRETEXT_SEED that repeats it.
.PHONY: torture
torture:
	PRETEXT_TORTURE=1 go test -count=1 -timeout 24h -v ./internal/store ./sharding/... ./pipeline ./extract/... ./cmd/prepare-data ./cmd/train-bert/...
	internal/fuzzall.sh 10m

# A real Flink cluster on loopback: bytes, faults, errors, Ctrl-C. It needs Java 17 and
# Maven, and caches 300 MB in the user's cache folder. CLUSTERFLAGS='-times 1' takes less
# time, -run NAME a part.
.PHONY: cluster-test
cluster-test:
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Java and Maven are needed: apt-get install openjdk-17-jre-headless maven"; exit 1; }
	go vet -tags cluster ./internal/clustertest
	PRETEXT_MINIO=$$(internal/clustertest/minio.sh) go test -count=1 -timeout 10m ./internal/store/s3
	PRETEXT_MINIO=$$(internal/clustertest/minio.sh) go test -tags cluster -count=1 -timeout 40m -v ./internal/clustertest $(CLUSTERFLAGS)

# Real readers read what the demo makes.
interop: $(PY) .venv/pyarrow .venv/hub .venv/datasets
	go build -o .venv/prepare-data ./cmd/prepare-data
	rm -rf $(DEMO) && .venv/prepare-data demo --out $(DEMO) --quiet
	.venv/prepare-data inspect $(DEMO)/shards --records > $(DEMO)/records.jsonl
	$(PY) internal/interop/read_shards.py $(DEMO)/shards $(DEMO)/records.jsonl
	$(PY) internal/interop/check_card.py .venv/prepare-data $(DEMO) .venv/cards
	$(PY) internal/interop/parquet_rows.py .venv/prepare-data .venv/parquet

# Tokenizers of every kind, trained by Hugging Face's library: the same ids and words.
# And those that prepare-data trains beside those of its trainers; AutoTokenizer of
# the newest transformers loads them.
ENCODING := .venv-peers/encoding
interop-tokenizers: .venv-peers/sentencepiece $(NEWEST)
	rm -rf $(ENCODING)
	$(PEERS) internal/interop/check_encoding.py $(ENCODING) --strings 500 --every 499 --text ../shared/data/golden/tokenization.jsonl.gz
	go run ./internal/interop/encoding $(ENCODING)
	go build -o $(ENCODING)/prepare-data ./cmd/prepare-data
	$(PEERS) internal/interop/check_training.py $(ENCODING)/prepare-data $(ENCODING)/training
	$(NEWEST) internal/interop/check_autotokenizer.py $(ENCODING)/prepare-data $(ENCODING)/training/bpe $(ENCODING)/training/unigram

.venv-peers/sentencepiece: $(PEERS)
	.venv-peers/bin/pip install --quiet sentencepiece==0.2.3 && touch $@

.venv/pyarrow: $(PY)
	.venv/bin/pip install --quiet pyarrow==26.0.1 && touch $@

.venv/hub: $(PY)
	.venv/bin/pip install --quiet huggingface_hub==2.4.0 && touch $@

.venv/datasets: $(PY) .venv/pyarrow .venv/hub
	.venv/bin/pip install --quiet datasets==5.2.0 zstandard==0.25.0 h5py==3.14.0 && touch $@

$(PY):
	python3 -m venv .venv
	.venv/bin/pip install --quiet tensorflow-cpu==2.21.0

# transformers loads a model of ours and we load one of its: the same losses. And
# it loads the tokenizer.json that a model of ours has: the same ids.
interop-torch: $(TORCH)
	rm -rf $(MODELS) && mkdir -p $(MODELS)
	go build -o $(MODELS)/ ./cmd/prepare-data ./cmd/train-bert
	$(MODELS)/prepare-data demo --out $(MODELS)/demo --quiet
	$(MODELS)/prepare-data inspect $(MODELS)/demo/shards --records > $(MODELS)/records.jsonl
	$(MODELS)/train-bert train --data $(MODELS)/demo --out $(MODELS)/run --model tiny --num-train-steps 4 --num-warmup-steps 0 --train-batch-size 8 --learning-rate 1e-3 --quiet
	$(MODELS)/train-bert export $(MODELS)/run --out $(MODELS)/ours
	$(TORCH) internal/interop/check_model.py make $(MODELS)/theirs --vocab $(MODELS)/demo/shards/vocab.txt
	for model in ours theirs; do \
		$(MODELS)/train-bert eval $(MODELS)/$$model --data $(MODELS)/demo --eval-examples 0 --json > $(MODELS)/$$model.json && \
		$(TORCH) internal/interop/check_model.py compare $(MODELS)/$$model $(MODELS)/$$model.json $(MODELS)/records.jsonl || exit 1; \
	done
	$(TORCH) internal/interop/check_tokenizer.py make $(MODELS)/tokenizers
	for kind in bpe wordpiece; do \
		$(MODELS)/prepare-data examples $(MODELS)/demo/documents --tokenizer $(MODELS)/tokenizers/$$kind.json --max-seq-length 64 --out $(MODELS)/$$kind --quiet && \
		$(MODELS)/train-bert train --data $(MODELS)/$$kind --out $(MODELS)/$$kind-run --model tiny --num-train-steps 2 --train-batch-size 8 --quiet && \
		$(MODELS)/train-bert export $(MODELS)/$$kind-run --out $(MODELS)/$$kind-model && \
		$(MODELS)/prepare-data tokenize --tokenizer $(MODELS)/tokenizers/$$kind.json --jsonl < $(MODELS)/tokenizers/lines.jsonl > $(MODELS)/$$kind.ids && \
		$(TORCH) internal/interop/check_tokenizer.py compare $(MODELS)/$$kind-model $(MODELS)/$$kind.ids || exit 1; \
	done

# The libraries that read the formats of convert find the values of the shards, of
# every recipe in every format that holds it.
CONVERTED := .venv-torch/converted
READ := internal/interop/read_converted.py
interop-formats: $(TORCH) .venv-torch/formats $(PY) .venv/datasets
	rm -rf $(CONVERTED) && mkdir -p $(CONVERTED)
	go build -o $(CONVERTED)/ ./cmd/prepare-data
	$(CONVERTED)/prepare-data demo --out $(CONVERTED)/demo --quiet
	mv $(CONVERTED)/demo/shards $(CONVERTED)/google
	for recipe in mlm tokens packed; do \
		$(CONVERTED)/prepare-data examples $(CONVERTED)/demo/documents --vocab $(CONVERTED)/google/vocab.txt --recipe $$recipe --eval-fraction 0.1 --shards 2 --out $(CONVERTED)/$$recipe --quiet || exit 1; \
	done
	for recipe in google mlm tokens packed; do \
		case $$recipe in google) more="hdf5 lddl";; tokens) more=megatron;; *) more=;; esac; \
		$(CONVERTED)/prepare-data inspect $(CONVERTED)/$$recipe --records > $(CONVERTED)/$$recipe.jsonl && \
		$(PY) $(READ) tfrecord $(CONVERTED)/$$recipe $(CONVERTED)/$$recipe.jsonl || exit 1; \
		for format in mds npy parquet webdataset $$more; do \
			case $$format in hdf5|lddl|parquet) python=$(PY);; *) python=$(TORCH);; esac; \
			$(CONVERTED)/prepare-data convert $(CONVERTED)/$$recipe --to $$format --out $(CONVERTED)/$$recipe-$$format --quiet && \
			$$python $(READ) $$format $(CONVERTED)/$$recipe-$$format $(CONVERTED)/$$recipe.jsonl || exit 1; \
		done; \
	done
	$(CONVERTED)/prepare-data examples $(CONVERTED)/demo/documents --vocab $(CONVERTED)/google/vocab.txt --dupe-factor 45 --eval-fraction 0 --shards 1 --out $(CONVERTED)/large --quiet
	for format in hdf5 npy; do $(CONVERTED)/prepare-data convert $(CONVERTED)/large --to $$format --out $(CONVERTED)/large-$$format --quiet || exit 1; done
	$(PY) $(READ) same $(CONVERTED)/large-hdf5 $(CONVERTED)/large-npy

# streaming imports what its cloud and image parts need; those parts are not used. Of
# megatron-core one file is loaded.
.venv-torch/formats: $(TORCH)
	.venv-torch/bin/pip install --quiet brotli==1.2.1 python-snappy==0.7.3 zstd==1.5.7.2 xxhash==3.8.2 catalogue==2.0.10 braceexpand==0.1.7
	.venv-torch/bin/pip install --quiet --no-deps mosaicml-streaming==0.13.0 webdataset==1.0.2 megatron-core==0.16.1 && touch $@

# transformers loads what finetune leaves, finetune what transformers saves, and both
# compute the same numbers.
FINETUNE := internal/interop/finetune
FINETUNED := .venv-torch/finetune
CHECK := $(TORCH) internal/interop/check_finetuned.py
interop-finetune: $(TORCH)
	rm -rf $(FINETUNED) && mkdir -p $(FINETUNED)
	go build -o $(FINETUNED)/ ./cmd/train-bert
	$(CHECK) make $(FINETUNED)/theirs $(FINETUNE)/vocab.txt
	$(FINETUNED)/train-bert finetune classify --model $(FINETUNE)/config.json --vocab-file $(FINETUNE)/vocab.txt --task mrpc --data-dir $(FINETUNE)/pairs --out $(FINETUNED)/pairs --num-train-steps 30 --learning-rate 5e-3 --quiet
	$(CHECK) classify $(FINETUNED)/pairs $(FINETUNE)/pairs/test.tsv
	mkdir $(FINETUNED)/tests && cp $(FINETUNE)/pairs/test.tsv $(FINETUNED)/tests
	$(FINETUNED)/train-bert finetune classify --init $(FINETUNED)/theirs/classify --task mrpc --data-dir $(FINETUNED)/tests --out $(FINETUNED)/their-pairs --quiet
	$(CHECK) classify $(FINETUNED)/their-pairs $(FINETUNE)/pairs/test.tsv $(FINETUNED)/theirs/classify
	$(FINETUNED)/train-bert finetune squad --model $(FINETUNE)/config.json --vocab-file $(FINETUNE)/vocab.txt --train-file $(FINETUNE)/questions.json --predict-file $(FINETUNE)/questions.json --max-seq-length 128 --out $(FINETUNED)/questions --num-train-steps 30 --learning-rate 5e-3 --quiet
	$(CHECK) squad $(FINETUNED)/questions $(FINETUNE)/questions.json
	$(FINETUNED)/train-bert finetune squad --init $(FINETUNED)/theirs/squad --predict-file $(FINETUNE)/questions.json --max-seq-length 128 --out $(FINETUNED)/their-questions --quiet
	$(CHECK) squad $(FINETUNED)/their-questions $(FINETUNE)/questions.json $(FINETUNED)/theirs/squad

# Folders of every form that transformers 4 and 5 save, and ours that they save
# again: the predictions are those of transformers.
FOLDERS := .venv-torch/folders
interop-folders: $(TORCH) $(NEWEST)
	rm -rf $(FOLDERS) && mkdir -p $(FOLDERS)
	go build -o $(FOLDERS)/train-bert ./cmd/train-bert
	$(TORCH) internal/interop/check_folders.py make $(FOLDERS)
	$(TORCH) internal/interop/check_folders.py import $(FOLDERS) $(FOLDERS)/train-bert
	$(TORCH) internal/interop/check_folders.py again $(FOLDERS)
	$(NEWEST) internal/interop/check_folders.py again $(FOLDERS)
	$(TORCH) internal/interop/check_folders.py compare $(FOLDERS) $(FOLDERS)/train-bert

# Without torch, which would bring gigabytes: configuration and tokenizer need none.
$(NEWEST):
	python3 -m venv .venv-newest
	.venv-newest/bin/pip install --quiet transformers==5.23.0

# The system's torch, since that of the package index brings gigabytes of CUDA.
$(TORCH):
	@/usr/bin/python3 -c 'import torch, venv, ensurepip' || { echo "torch is needed: apt-get install python3-torch python3-venv"; exit 1; }
	/usr/bin/python3 -m venv --system-site-packages .venv-torch
	.venv-torch/bin/pip install --quiet transformers==4.40.2 'numpy<2' safetensors==0.4.5

# Every stage and the whole run, in CPU time and against bzip2: docs/benchmarks.md.
# BENCHFLAGS='-dump F -books P' measures other input, -json prints all samples.
bench: build
	go run ./internal/bench $(BENCHFLAGS)

# The whole run beside that of another commit, in turns: CPU time of both, and how
# far their outputs are equal. COMMIT=NAME; BENCHFLAGS='-rounds 5 -run-flags "--shards 9"'.
AGAINST := bin/against
bench-against: build
	@[ -n "$(COMMIT)" ] || { echo "which commit? make bench-against COMMIT=NAME"; exit 1; }
	rm -rf $(AGAINST) && mkdir -p $(AGAINST)/tree
	git archive $(COMMIT) | tar -x -C $(AGAINST)/tree
	cd $(AGAINST)/tree && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o .. ./cmd/prepare-data
	rm -r $(AGAINST)/tree
	go run ./internal/bench -against $(AGAINST)/prepare-data $(BENCHFLAGS)

# The tools that others use for the same work, and ours beside them.
bench-peers: $(PEERS)
	@command -v bzip2 >/dev/null && command -v lbzip2 >/dev/null || { echo "bzip2 and lbzip2 are needed: apt-get install bzip2 lbzip2"; exit 1; }
	go run ./internal/bench -peers $(PEERS) -write docs/benchmarks.md $(BENCHFLAGS)

$(PEERS):
	python3 -m venv .venv-peers
	.venv-peers/bin/pip install --quiet wikiextractor==3.1.0 mwparserfromhell==0.7.2 tokenizers==0.23.3 nltk==3.8.1

# Training beside PyTorch, in one run. Installs PyTorch: some GB.
bench-torch: build $(BENCHTORCH)
	rm -rf .venv-bench/demo && bin/prepare-data demo --out .venv-bench/demo --quiet
	bin/prepare-data inspect .venv-bench/demo/shards --records > .venv-bench/records.jsonl
	$(BENCHTORCH) internal/bench/peers/torch_step.py bin/train-bert .venv-bench/demo/shards .venv-bench/records.jsonl $(BENCHFLAGS)

$(BENCHTORCH):
	python3 -m venv .venv-bench
	.venv-bench/bin/pip install --quiet torch==2.11.0 transformers==5.17.0 numpy

# A folder to copy to a machine with an NVIDIA GPU, without Go and network: programs,
# tests, data and run.sh, which checks and measures them. The packed file, which is what is
# copied, has less than 64 MiB.
PACK := bin/gpu-pack
gpu-pack:
	rm -rf $(PACK) && mkdir -p $(PACK)
	CGO_ENABLED=1 go build -tags osusergo,netgo -trimpath -ldflags='-s -w' -o $(PACK)/ ./cmd/train-bert ./internal/gpubench
	CGO_ENABLED=1 go test -c -tags gpu,osusergo,netgo -trimpath -ldflags='-s -w' -o $(PACK)/kernels.test ./trainer/cuda/kernels
	CGO_ENABLED=1 go test -c -tags gpu,osusergo,netgo -trimpath -ldflags='-s -w' -o $(PACK)/driver.test ./trainer/cuda/driver
	go run ./cmd/prepare-data demo --out $(PACK)/demo.tmp --quiet
	mv $(PACK)/demo.tmp/shards $(PACK)/demo && rm -rf $(PACK)/demo.tmp
	cp internal/gpubench/pack/* internal/gpubench/lengths/* $(PACK)/
	tar -cJf $(PACK).tar.xz -C $(dir $(PACK)) $(notdir $(PACK))
	@size=$$(du -sm $(PACK).tar.xz | cut -f1); du -sh $(PACK) $(PACK).tar.xz; [ $$size -le 64 ]

# The whole of run.sh on the simulator, in small sizes: a minute of processor.
gpu-rehearse: gpu-pack
	go vet -tags gpu ./trainer/cuda/...
	rm -rf bin/gpu-rehearsal && $(PACK)/run.sh -d sim -o bin/gpu-rehearsal

bench-packages:
	go test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf .venv .venv-peers .venv-torch .venv-newest .venv-bench .venv-nvrtc .venv-nvrtc-check $(HEADERS) bin demo
