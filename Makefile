# What there is to run; .ci/run calls test and check.
PY      := .venv/bin/python
DEMO    := .venv/demo
FUZZTIME ?= 5s

.PHONY: build test check format vet lint race generated fuzz interop bench clean

build: ## static release binary
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/prepare-data ./cmd/prepare-data

test:
	go test ./...

check: format vet lint generated race fuzz interop

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet:
	go vet ./...

lint:
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# Generated tables must be what their generators write.
generated:
	go generate ./tokenize/... ./extract/...
	git diff --exit-code -- '*_generated.go' '*_table.go'

race:
	go test -race -short ./internal/store ./extract/... ./tokenize/... ./records/... ./sharding ./trainer/... ./pipeline

# Every fuzz target for a short while; the long runs are by hand.
fuzz:
	@internal/fuzzall.sh $(FUZZTIME)

# Real readers read what the demo makes.
interop: $(PY)
	rm -rf $(DEMO) && go run ./cmd/prepare-data demo --out $(DEMO) --quiet
	go run ./cmd/prepare-data inspect $(DEMO)/shards --records > $(DEMO)/records.jsonl
	$(PY) internal/interop/read_shards.py $(DEMO)/shards $(DEMO)/records.jsonl

$(PY):
	python3 -m venv .venv
	.venv/bin/pip install --quiet tensorflow-cpu

bench:
	go test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf .venv bin demo
