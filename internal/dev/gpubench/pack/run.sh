#!/usr/bin/env bash
# Checks and measures train-bert on a machine with an NVIDIA GPU, from the folder
# that make gpu-pack wrote. It needs NVIDIA's driver and cuBLASLt, no Go and no
# network.
#
#   ./run.sh [-o DIR] [-z FILE] [-d sim] [PART]...
#
#   look      machine, driver, libraries, train-bert doctor         1 minute
#   check     every kernel, every product, the backend's tests      5
#   ranks     NCCL's collectives and steps, for one rank            3
#   sanitize  memcheck, racecheck, initcheck on small steps         3
#   products  cuBLASLt's products of a layer, by epilogue           1
#   steps     steps of BERT-large, 512 and 128 tokens, by kernel,
#             and inference                                         6
#   torch     the same steps in PyTorch                             8
#   curve     300 steps in each precision                           5
#
# Without PART all of them. Every step writes its output to DIR (default results)
# as it goes, under its own time limit; summary.txt has a line for each, and
# FILE (default DIR/results.tar.gz) holds them all and is written again after each.
# The exit code is 1 if a step failed.
#
# -d sim rehearses on the simulator, in small sizes: no figure counts.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=results device=cuda:0 archive=
while getopts o:z:d:h option; do
	case $option in
	o) out=$OPTARG ;;
	z) archive=$OPTARG ;;
	d) device=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | head -n -1; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
archive=${archive:-$out/results.tar.gz}
bench=$here/gpubench failed=0

# step NAME SECONDS COMMAND...: runs a command with its output in NAME.txt.
step() {
	local name=$1 limit=$2 begin=$SECONDS rc
	shift 2
	echo "== $name: $*"
	timeout --kill-after=5 "$limit" "$@" 2>&1 | tee "$out/$name.txt"
	rc=${PIPESTATUS[0]}
	[ "$rc" -eq 0 ] || failed=1
	printf '%-24s exit %3d  %4d s of %d  %s\n' "$name" "$rc" $((SECONDS - begin)) "$limit" "$*" >>"$out/summary.txt"
	tar -czf "$archive.new" -C "$out" --exclude='*.tar.gz*' --exclude='*.safetensors' . 2>/dev/null
	mv "$archive.new" "$archive"
}

# Tests that open the GPU themselves; a rehearsal has them use the simulator.
rehearsal=
if [ "$device" = sim ]; then
	rehearsal=1
	export PRETEXT_GPU=sim
fi

look() {
	step machine 30 bash -c 'date -u; uname -a; nproc; free -g; ldd --version | head -1; ldconfig -p | grep -E "libcuda\.so|libcublasLt|libnccl"; command -v python3 compute-sanitizer ncu; python3 -c "import torch, transformers; print(torch.__version__, transformers.__version__)" 2>&1 | tail -1'
	[ -n "$rehearsal" ] || step nvidia-smi 30 nvidia-smi -q
	step doctor 60 "$here/train-bert" doctor
	step doctor-json 60 "$here/train-bert" doctor --json
}

kernel_tests='^Test(Attention|FlashAttention|Activations|Elementwise|SumsOfColumns|RowsMoved|Spans|Regression|CrossEntropy|Norm|Embedding|DropoutOfRows|Updates)$'
check() {
	if [ -n "$rehearsal" ]; then
		step kernels 300 "$here/kernels.test" -test.run 'TestNorm|TestUpdates'
		step products-checked 300 "$here/driver.test" -test.run 'TestGPU(Products|Copies)'
		return
	fi
	step kernels 90 "$here/kernels.test" -test.v -test.run "$kernel_tests"
	step products-checked 60 "$here/driver.test" -test.v -test.run 'TestGPU(Products|Copies)'
	for type in Float32 BFloat16 Float16; do
		step "backend-$type" 90 "$here/driver.test" -test.v -test.run "TestGPU$type"
	done
}

small=(step -device "$device" -model tiny -vocab 1003 -lengths full-64 -tokens 256 -seconds 0.01)
sanitize() {
	local tool program
	if [ -n "$rehearsal" ]; then
		step small-step 300 "$bench" "${small[@]}" -vocab 64 -tokens 64 -lengths full-32
		return
	fi
	program=$(ls -d "$(command -v compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer /opt/nvidia/*/compute-sanitizer 2>/dev/null | head -1)
	if [ -z "$program" ]; then
		echo "sanitize: compute-sanitizer is not installed" | tee -a "$out/summary.txt"
		return
	fi
	step small-step 30 "$bench" "${small[@]}"
	for tool in memcheck racecheck initcheck; do
		step "$tool" 60 "$program" --tool "$tool" --error-exitcode 9 "$bench" "${small[@]}"
	done
}

# Several ranks need several GPUs; with one, NCCL has one rank, and its collectives copy.
ranks() {
	if [ -n "$rehearsal" ]; then
		step nccl-checked 300 "$here/driver.test" -test.run 'TestGPU(Collectives|OneRank)'
		step step-nccl-small 300 "$bench" "${small[@]}" -vocab 64 -tokens 8 -lengths full-8 -nccl -zero1
		return
	fi
	step nccl-checked 60 "$here/driver.test" -test.v -test.run 'TestGPU(Collectives|OneRank)'
	step step-large-nccl 60 "$bench" step -device "$device" -model large -lengths uniform-512 -seconds 15 -kernels -nccl
	step step-large-zero1 60 "$bench" step -device "$device" -model large -lengths uniform-512 -seconds 15 -kernels -nccl -zero1
}

products() {
	if [ -n "$rehearsal" ]; then
		step products 60 "$bench" products -device sim -model tiny -tokens 16
		return
	fi
	step products-bf16 60 "$bench" products -device "$device" -model large
	step products-fp16 60 "$bench" products -device "$device" -model large -precision fp16
}

steps() {
	if [ -n "$rehearsal" ]; then
		step step-small 300 "$bench" step -device sim -model tiny -vocab 64 -lengths wikipedia-128 -tokens 100 -seconds 0.01 -kernels
		step infer-small 300 "$bench" infer -device sim -model tiny -vocab 64 -lengths full-32 -tokens 32 -seconds 0.01
		return
	fi
	step step-large 150 "$bench" step -device "$device" -model large -lengths uniform-512 -seconds 60 -kernels
	step step-large-lengths 180 "$bench" step -device "$device" -model large -lengths wikipedia-512,wikipedia-128,full-512,full-128 -seconds 15 -kernels
	step step-base-uniform-512 60 "$bench" step -device "$device" -model base -lengths uniform-512 -seconds 20
	step infer-base-128 60 "$bench" infer -device "$device" -model base -lengths wikipedia-128 -seconds 10
	step infer-large-512 60 "$bench" infer -device "$device" -model large -lengths uniform-512 -seconds 10
	step step-large-fp16 60 "$bench" step -device "$device" -model large -lengths uniform-512 -precision fp16 -seconds 20
}

torch() {
	if ! python3 -c 'import torch; torch.nn.functional.scaled_dot_product_attention' 2>/dev/null; then
		echo "torch: python3 has no torch 2" | tee -a "$out/summary.txt"
		return
	fi
	local size=(--models large --variants hf_autocast_compile,hf_bf16_compile,fast_varlen_compile --compile layer --budget 240)
	[ -z "$rehearsal" ] || size=(--selftest)
	step torch-512 290 python3 "$here/torch_step.py" "${size[@]}" --seqs 512 --ceilings --lengths "$here/uniform-512.txt" --out "$out/torch-512.json"
	[ -n "$rehearsal" ] || step torch-128 200 python3 "$here/torch_step.py" "${size[@]}" --seqs 128 --lengths "$here/wikipedia-128.txt" --out "$out/torch-128.json"
}

curve() {
	local precision steps=300 model=small
	local kind=(--device "$device")
	[ -z "$rehearsal" ] || { steps=3 model=tiny kind=(--device cpu); }
	for precision in fp32 bf16 fp16; do
		[ -z "$rehearsal" ] || [ $precision = fp32 ] || continue
		rm -rf "$out/curve-$precision"
		step "curve-$precision" 120 "$here/train-bert" train --data "$here/demo" --out "$out/curve-$precision" --model $model --num-train-steps $steps --num-warmup-steps 3 \
			--train-batch-size 64 --learning-rate 5e-4 --precision $precision "${kind[@]}" --quiet
	done
}

[ $# -gt 0 ] || set -- look check ranks sanitize products steps torch curve
for part; do
	case $part in
	look | check | ranks | sanitize | products | steps | torch | curve) "$part" ;;
	*) echo "run.sh: unknown part $part" >&2; exit 2 ;;
	esac
done
cat "$out/summary.txt"
exit $failed
