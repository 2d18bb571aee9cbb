# What there is to run; .ci/run calls test and check.
FUZZTIME ?= 5s

.PHONY: build build-cuda gpu-pack test check nightly ptx-write fuzz bench bench-against bench-peers bench-torch bench-onnx bench-packages bench-scale clean

build: ## static release binaries, with support for clusters
	CGO_ENABLED=0 go build -tags cluster -trimpath -ldflags='-s -w' -o bin/ ./cmd/prepare-data ./cmd/train-bert

# train-bert for NVIDIA GPUs. It needs a C compiler to build and glibc to run, and
# nothing of NVIDIA's before it opens a GPU; without one it computes on the processor.
build-cuda:
	CGO_ENABLED=1 go build -tags osusergo,netgo -trimpath -ldflags='-s -w' -o bin/train-bert ./cmd/train-bert

test:
	go test ./...

# Everything that is too dear for go test: lint, the race detector, generated files,
# other projects' readers, other platforms, fuzzing, a real Flink cluster. A check runs
# only if something that it reads has changed since it last succeeded; CHECKFLAGS=-force
# runs it anyway. The checks are the scripts in internal/dev/checks/scripts, and each of
# them is a target here.
check:
	go run ./internal/dev/checks $(CHECKFLAGS)

CHECKS := $(basename $(notdir $(wildcard internal/dev/checks/scripts/*.sh)))
.PHONY: $(CHECKS)
$(CHECKS):
	go run ./internal/dev/checks -force $@

# All checks whatever has changed, every fuzz target for ten minutes, the tests of faults
# in full, and every mutant of the kernels: many hours.
nightly: CLUSTERFLAGS =
nightly: torture
	PRETEXT_TORTURE=1 go test -count=1 -timeout 24h -run Mutants ./trainer/cuda/...
	CLUSTERFLAGS="$(CLUSTERFLAGS)" go run ./internal/dev/checks -force -fuzztime 10m

# The kernels' PTX: one version of NVRTC, so that it is the same everywhere. It is
# committed, and no GPU is needed.
ptx-write:
	go generate ./trainer/cuda/kernels

# What plan --machines predicts, compared with drivers and a simulated store: 1,000 to 100,000 shards.
bench-scale:
	@for n in 1000 3000 10000 30000 100000; do echo "$$n shards"; \
		go run ./internal/dev/bench/scale -shards $$n -blocks $$((100*n)) -files $$((n/4)) || exit 1; done
	PRETEXT_FULL=1 go test ./pipeline -count=1 -timeout 30m -run PlansPredictTheReplay -v

# Every fuzz target for FUZZTIME, on one processor each. The seeds and all earlier
# findings run with the tests. FUZZBELOW=extract takes a part.
fuzz:
	@internal/dev/checks/fuzzall.sh $(FUZZTIME) $(FUZZBELOW)

# N changes of functions chosen by SEED, and whether the tests notice: about 20 s each.
.PHONY: mutants
mutants:
	nice go run ./internal/dev/mutants -seed $(or $(SEED),1) -n $(or $(N),100) $(MUTANTFLAGS)

# The tests of faults as long as it takes to trust the result, where go test runs
# a share: kills, failpoints, signals, full disks, damage, hostile files; hours.
# A failure prints the PRETEXT_SEED that repeats it.
.PHONY: torture
torture:
	PRETEXT_TORTURE=1 go test -count=1 -timeout 24h -v ./internal/store ./sharding/... ./pipeline ./extract/... ./cmd/prepare-data ./cmd/train-bert/...
	internal/dev/checks/fuzzall.sh 10m

# A real Flink cluster on loopback: bytes, faults, errors, Ctrl-C. It needs Java 17 and
# Maven, and caches 300 MB in the user's cache folder. CLUSTERFLAGS='-times 1' takes less
# time, -run NAME a part.
.PHONY: cluster-test
cluster-test:
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Java and Maven are needed: apt-get install openjdk-17-jre-headless maven"; exit 1; }
	PRETEXT_MINIO=$$(internal/dev/clustertest/minio.sh) go test -count=1 -timeout 10m ./internal/store/s3
	PRETEXT_MINIO=$$(internal/dev/clustertest/minio.sh) go test -tags cluster -count=1 -timeout 40m -v ./internal/dev/clustertest $(CLUSTERFLAGS)

# Every stage and the whole run, in CPU time and against bzip2: docs/benchmarks.md.
# BENCHFLAGS='-dump F -books P' measures other input, -json prints all samples.
bench: build
	go run ./internal/dev/bench $(BENCHFLAGS)

# The whole run beside that of another commit, in turns: CPU time of both, and how
# far their outputs are equal. COMMIT=NAME; BENCHFLAGS='-rounds 5 -run-flags "--shards 9"'.
AGAINST := bin/against
bench-against: build
	@[ -n "$(COMMIT)" ] || { echo "which commit? make bench-against COMMIT=NAME"; exit 1; }
	rm -rf $(AGAINST) && mkdir -p $(AGAINST)/tree
	git archive $(COMMIT) | tar -x -C $(AGAINST)/tree
	cd $(AGAINST)/tree && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o .. ./cmd/prepare-data
	rm -r $(AGAINST)/tree
	go run ./internal/dev/bench -against $(AGAINST)/prepare-data $(BENCHFLAGS)

# The tools that others use for the same work, and ours beside them.
bench-peers: build
	@command -v bzip2 >/dev/null && command -v lbzip2 >/dev/null || { echo "bzip2 and lbzip2 are needed: apt-get install bzip2 lbzip2"; exit 1; }
	go run ./internal/dev/bench -peers $$(internal/dev/checks/env.sh peers) -write docs/benchmarks.md $(BENCHFLAGS)

# Training beside PyTorch, in one run. Installs PyTorch: 1.6 GB.
bench-torch: build
	internal/dev/checks/env.sh bench internal/dev/interop/without_cuda.py
	rm -rf bin/bench-torch && bin/prepare-data demo --out bin/bench-torch/demo --quiet
	bin/prepare-data head bin/bench-torch/demo/shards --json -n 0 > bin/bench-torch/records.jsonl
	internal/dev/checks/env.sh bench internal/dev/bench/peers/torch_step.py bin/train-bert bin/bench-torch/demo/shards bin/bench-torch/records.jsonl $(BENCHFLAGS)
	internal/dev/checks/env.sh bench internal/dev/bench/peers/torch_modern.py bin/train-bert

# Inference beside ONNX Runtime, in one run.
bench-onnx:
	go test -c -o bin/cpu.test ./trainer/cpu
	internal/dev/checks/env.sh onnx internal/dev/bench/peers/onnx_infer.py bin/cpu.test $(BENCHFLAGS)

# A folder to copy to a machine with an NVIDIA GPU, without Go and network: programs,
# tests, data and run.sh, which checks and measures them. The packed file, which is what is
# copied, has less than 64 MiB.
PACK := bin/gpu-pack
gpu-pack:
	rm -rf $(PACK) && mkdir -p $(PACK)
	CGO_ENABLED=1 go build -tags osusergo,netgo -trimpath -ldflags='-s -w' -o $(PACK)/ ./cmd/train-bert ./internal/dev/gpubench
	CGO_ENABLED=1 go test -c -tags gpu,osusergo,netgo -trimpath -ldflags='-s -w' -o $(PACK)/kernels.test ./trainer/cuda/kernels
	CGO_ENABLED=1 go test -c -tags gpu,osusergo,netgo -trimpath -ldflags='-s -w' -o $(PACK)/driver.test ./trainer/cuda/driver
	go run ./cmd/prepare-data demo --out $(PACK)/demo.tmp --quiet
	mv $(PACK)/demo.tmp/shards $(PACK)/demo && rm -rf $(PACK)/demo.tmp
	cp internal/dev/gpubench/pack/* internal/dev/gpubench/lengths/* $(PACK)/
	tar -cJf $(PACK).tar.xz -C $(dir $(PACK)) $(notdir $(PACK))
	@size=$$(du -sm $(PACK).tar.xz | cut -f1); du -sh $(PACK) $(PACK).tar.xz; [ $$size -le 64 ]

bench-packages:
	go test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf bin demo

# What others take: archives of the programs for every platform, wheels and
# SHA256SUMS, in bin/release. The same source gives the same bytes.
# PLATFORMS=linux/amd64 makes a part.
.PHONY: release
release:
	go run ./internal/dev/release $(if $(PLATFORMS),-platforms $(PLATFORMS))
