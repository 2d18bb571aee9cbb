#!/usr/bin/env bash
# Checks and measures train-bert on a machine with an NVIDIA GPU, from the folder
# that make gpu-pack wrote. It needs NVIDIA's driver and cuBLASLt, no Go and no
# network.
#
#   ./run.sh -l                                      lists the calls below with their times
#   ./run.sh [-o DIR] [-z FILE] [-d sim] call N...   makes calls
#   ./run.sh [-o DIR] [-z FILE] [-d sim] PART...     runs parts, without a limit for all
#   ./run.sh [-o DIR] [-z FILE] [-d sim]             makes all calls, one after the other
#
# A call ends within its time, for machines that are lent for minutes, and is of use
# alone. What is right comes before what is fast:
#
#   look      machine, driver, libraries, train-bert doctor
#   check     every kernel, every product, the backend's tests
#   truth     BERT-large on 65,536 tokens against fp32 and PyTorch
#   steps     steps of BERT-large by kernel, beside the model on paper; with LAMB,
#             --deterministic, accumulation, fp16, fp8, on five distributions of lengths;
#             inference
#   products  cuBLASLt's products of a layer, by epilogue
#   torch     the same steps in PyTorch
#   profile   ncu on the six heaviest kernels
#   sanitize  memcheck, racecheck, initcheck on small steps
#   ranks     NCCL's collectives and steps, for one rank
#   curve     300 steps in each precision
#
# Every step writes its output to DIR (default results) as it goes, under its own time
# limit; summary.txt has a line for each, and FILE (default DIR/results.tar.gz) holds
# them all and is written again after each. The exit code is 1 if a step failed, or if a
# call had no time for it.
#
# -d sim rehearses on the simulator, in small sizes: no figure counts.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=results device=cuda:0 archive=
# The seconds of each call, and its parts.
calls=("360 look check" "500 truth" "330 steps" "250 products torch" "240 profile sanitize ranks curve")
while getopts o:z:d:lh option; do
	case $option in
	l)
		for i in "${!calls[@]}"; do
			printf 'call %d  %4d s  %s\n' $((i + 1)) "${calls[i]%% *}" "${calls[i]#* }"
		done
		exit
		;;
	o) out=$OPTARG ;;
	z) archive=$OPTARG ;;
	d) device=$OPTARG ;;
	*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | head -n -1; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
archive=${archive:-$out/results.tar.gz}
bench=$here/gpubench failed=0 deadline=

# step NAME SECONDS COMMAND...: runs a command with its output in NAME.txt. A call gives it
# no more than what is left of its own time.
step() {
	local name=$1 limit=$2 begin=$SECONDS rc left
	shift 2
	if [ -n "$deadline" ]; then
		left=$((deadline - SECONDS - 5))
		if [ $left -lt 5 ]; then
			failed=1
			printf '%-24s left out: the time of the call is over\n' "$name" | tee -a "$out/summary.txt"
			return
		fi
		[ "$limit" -le $left ] || limit=$left
	fi
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

# Tests of kernels.test that are about the simulator, the sources or the tests themselves.
# All others run on the GPU, new ones too.
about_simulator='^Test(PTXIsThatOfTheSources|MemoryStaysWithinBudgets|EveryKernelIsChecked|MutantsAreCaught|NumericFaultsAreCaught|ChecksHoldForEveryRounding|AWholeStepIsThatOfTheCPU)$'
check() {
	if [ -n "$rehearsal" ]; then
		step kernels 300 "$here/kernels.test" -test.run 'TestNorm|TestUpdates'
		step products-checked 300 "$here/driver.test" -test.run 'TestGPU(Products|Copies)'
		return
	fi
	step kernels 90 "$here/kernels.test" -test.v -test.skip "$about_simulator"
	# Those of the backend and of collectives run apart, the latter in the part ranks.
	step products-checked 60 "$here/driver.test" -test.v -test.run '^TestGPU' -test.skip '^TestGPU(Float32|BFloat16|Float16|Collectives|OneRankByNCCL)$'
	for type in Float32 BFloat16 Float16; do
		step "backend-$type" 90 "$here/driver.test" -test.v -test.run "^TestGPU$type\$"
	done
}

truth() {
	local torch=()
	if has_torch 'import torch, numpy'; then torch=(-torch "python3 $here/torch_truth.py" -seconds 180); fi
	if [ -n "$rehearsal" ]; then
		step truth 600 "$bench" truth -device sim -model tiny -vocab 1003 -tokens 130 -lengths full-40 -steps 2 "${torch[@]}" -out "$out/truth"
		return
	fi
	step truth 490 "$bench" truth -device "$device" -lengths uniform-512 "${torch[@]}" -out "$out/truth"
	rm -f "$out"/truth/*.safetensors
}

# has_torch STATEMENT: reports whether PyTorch is there and new enough to run it.
has_torch() {
	python3 -c "$1" 2>/dev/null && return
	echo "python3 cannot \"$1\": what compares with PyTorch is left out" | tee -a "$out/summary.txt"
	return 1
}

small=(step -device "$device" -model tiny -vocab 1003 -lengths full-64 -tokens 256 -seconds 0.01)
sanitize() {
	local program name
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
	# A bad argument of ours shows as a bad access of cuBLASLt, and initcheck must see what
	# cuBLASLt writes; but its shared memory is its own business.
	local theirs=()
	for name in cublas cutlass gemm gemv nvjet splitK xmma; do
		theirs+=(--kernel-name-exclude "kernel_substring=$name")
	done
	step memcheck 40 "$program" --tool memcheck --error-exitcode 9 "$bench" "${small[@]}"
	step racecheck 60 "$program" --tool racecheck --error-exitcode 9 "${theirs[@]}" "$bench" "${small[@]}"
	step initcheck 40 "$program" --tool initcheck --error-exitcode 9 "$bench" "${small[@]}"
}

# ncu takes the six kernels that the part steps found heaviest, if it has run.
profile() {
	local program kernel heaviest=(flash_backward flash_forward norm_backward norm_forward gelu_backward adamw)
	if [ -s "$out/step-large.txt" ]; then
		mapfile -t heaviest < <(sed -n 's/^{"kind":"kernel","name":"\([a-z0-9_]*\)".*/\1/p' "$out/step-large.txt" | head -6)
	fi
	program=$(ls -d "$(command -v ncu)" /usr/local/cuda*/bin/ncu /opt/nvidia/nsight-compute/*/ncu 2>/dev/null | head -1)
	if [ -z "$program" ]; then
		echo "profile: ncu is not installed; it would take ${heaviest[*]}" | tee -a "$out/summary.txt"
		return
	fi
	for kernel in "${heaviest[@]}"; do
		step "ncu-$kernel" 40 "$program" --target-processes all --kernel-name "regex:^$kernel\$" --launch-skip 4 --launch-count 1 --set full \
			"$bench" step -device "$device" -model large -tokens 8192 -lengths uniform-512 -seconds 0.01
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
	step step-large-nccl 30 "$bench" step -device "$device" -model large -lengths uniform-512 -seconds 8 -kernels -nccl
	step step-large-zero1 30 "$bench" step -device "$device" -model large -lengths uniform-512 -seconds 8 -kernels -nccl -zero1
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
		step step-accumulated 300 "$bench" step -device sim -model tiny -vocab 64 -lengths full-16 -tokens 64 -seconds 0.01 -parts 4 -optimizer lamb -deterministic
		step step-fp8 300 "$bench" step -device sim -model tiny -vocab 64 -lengths full-16 -tokens 16 -seconds 0.01 -precision fp8
		step model-time 300 "$here/train-bert" bench --device cpu --model tiny --train-batch-size 2 --max-seq-length 32 --rounds 1 --seconds 0.01
		return
	fi
	local large=(step -device "$device" -model large -lengths uniform-512)
	step step-large 60 "$bench" "${large[@]}" -seconds 20 -kernels
	step model-time 30 "$here/train-bert" bench --device "$device" --model large --train-batch-size 128 --max-seq-length 512 --rounds 1 --seconds 3 --model-time
	step step-large-lamb 30 "$bench" "${large[@]}" -seconds 10 -optimizer lamb
	step step-large-deterministic 30 "$bench" "${large[@]}" -seconds 10 -deterministic
	step step-large-accumulated 30 "$bench" "${large[@]}" -seconds 10 -parts 4
	step step-large-lengths 80 "$bench" step -device "$device" -model large -lengths wikipedia-512,wikipedia-128,full-512,full-128 -seconds 10
	step step-large-fp16 30 "$bench" "${large[@]}" -precision fp16 -seconds 10
	step step-large-fp8 30 "$bench" "${large[@]}" -precision fp8 -seconds 10 -kernels
	step infer-large-512 25 "$bench" infer -device "$device" -model large -lengths uniform-512 -seconds 6
	step step-base-uniform-512 25 "$bench" step -device "$device" -model base -lengths uniform-512 -seconds 10
	step infer-base-128 20 "$bench" infer -device "$device" -model base -lengths wikipedia-128 -seconds 6
}

torch() {
	has_torch 'import torch; torch.nn.functional.scaled_dot_product_attention' || return
	local size=(--models large --variants hf_autocast_compile,hf_bf16_compile,fast_varlen_compile --compile layer --budget 140)
	[ -z "$rehearsal" ] || size=(--selftest)
	step torch-512 160 python3 "$here/torch_step.py" "${size[@]}" --seqs 512 --ceilings --lengths "$here/uniform-512.txt" --out "$out/torch-512.json"
	[ -n "$rehearsal" ] || step torch-128 100 python3 "$here/torch_step.py" "${size[@]}" --seqs 128 --lengths "$here/wikipedia-128.txt" --out "$out/torch-128.json"
}

curve() {
	local precision steps=300 model=small
	local kind=(--device "$device")
	[ -z "$rehearsal" ] || { steps=3 model=tiny kind=(--device cpu); }
	for precision in fp32 bf16 fp16; do
		[ -z "$rehearsal" ] || [ $precision = fp32 ] || continue
		rm -rf "$out/curve-$precision"
		step "curve-$precision" 40 "$here/train-bert" train --data "$here/demo" --out "$out/curve-$precision" --model $model --num-train-steps $steps --num-warmup-steps 3 \
			--train-batch-size 64 --learning-rate 5e-4 --precision $precision "${kind[@]}" --quiet
	done
}

# parts NAME...: runs parts.
parts() {
	local part
	for part; do
		case $part in
		look | check | truth | steps | products | torch | profile | sanitize | ranks | curve) "$part" ;;
		*) echo "run.sh: unknown part $part" >&2; exit 2 ;;
		esac
	done
}

# call N: makes one call within its time; a rehearsal takes the time that it needs.
call() {
	if ! [[ $1 =~ ^[1-9]$ ]] || [ "$1" -gt ${#calls[@]} ]; then
		echo "run.sh: no call $1: run.sh -l lists them" >&2
		exit 2
	fi
	read -r limit list <<<"${calls[$1 - 1]}"
	[ -n "$rehearsal" ] || deadline=$((SECONDS + limit))
	# shellcheck disable=SC2086 # names of parts
	parts $list
	deadline=
}

if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046 # numbers
	set -- call $(seq ${#calls[@]})
fi
if [ "$1" = call ]; then
	shift
	for number; do call "$number"; done
else
	parts "$@"
fi
cat "$out/summary.txt"
exit $failed
