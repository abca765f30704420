#!/bin/bash
# What a client adds to what it measures, against vLLM's own Rust client in the same run.
#
#   bench/client.sh URL [VLLM_RS TOKENIZER_FOLDER]
#
# URL is an OpenAI-compatible server that answers at once or at a known pace, such as `sim-server --preset fixed`; pin it
# and this script to CPUs of their own (taskset) where there are several. VLLM_RS is the `vllm-rs` of vLLM's wheel,
# TOKENIZER_FOLDER a model's folder. The clients take turns, ROUNDS (3) times; printed are medians: output tokens per
# second, TTFT as the client reports it, and its peak memory. STREAMS (64), REQUESTS (640) and TOKENS (200) set the load.
# Build first: make build.
set -euo pipefail
url=${1:?give the URL of a server} peer=${2:-} tokenizer=${3:-}
cd "$(dirname "$0")/.."
bin=$(realpath "${BIN:-${CARGO_TARGET_DIR:-target}/release}")
streams=${STREAMS:-64} requests=${REQUESTS:-640} tokens=${TOKENS:-200} rounds=${ROUNDS:-3}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

median() { sort -n | awk '{x[NR]=$1} END {print NR % 2 ? x[(NR+1)/2] : (x[NR/2]+x[NR/2+1])/2}'; }
measured() { # COMMAND...: its output to $folder/out, its peak memory in MiB to $folder/rss
    command time -f %M -o "$folder/rss.kib" "$@" >"$folder/out" 2>"$folder/err" || { cat "$folder/err" >&2; exit 1; }
    tail -1 "$folder/rss.kib" | awk '{print $1 / 1024}' >"$folder/rss"
}
note() { # NAME TOKENS_PER_SECOND MEAN_TTFT P99_TTFT
    printf '%s\n' "$2" >>"$folder/$1.rate"; printf '%s\n' "$3" >>"$folder/$1.mean"
    printf '%s\n' "$4" >>"$folder/$1.p99"; cat "$folder/rss" >>"$folder/$1.rss"
}

"$bin/gen-dataset" random --input-len 128 --output-len "$tokens" --num-prompts "$requests" --seed 42 >"$folder/rows"
model=$("$bin/fire-requests" --base-url "$url" --quiet <<<'{"prompt":"a","max_tokens":1}' | jq -r 'select(.kind=="run_start").model')
for ((round = 0; round < rounds; round++)); do
    measured "$bin/fire-requests" --backend openai-chat --base-url "$url" --ignore-eos --quiet \
        --max-concurrency "$streams" "$folder/rows"
    "$bin/summarize" --format json --metric-percentiles 99 "$folder/out" >"$folder/summary" 2>/dev/null
    read -r rate mean p99 < <(jq -r '[.output_throughput, .mean_ttft_ms, .p99_ttft_ms] | @tsv' "$folder/summary")
    note ours "$rate" "$mean" "$p99"
    [ -z "$peer" ] && continue
    measured "$peer" bench serve --backend openai-chat --base-url "$url" --model "$model" --tokenizer "$tokenizer" \
        --dataset-name random --random-input-len 128 --random-output-len "$tokens" --num-prompts "$requests" \
        --ignore-eos --disable-tqdm --no-steady-state --max-concurrency "$streams"
    figure() { awk -F: -v label="$1" 'index($0, label) {gsub(/ /, "", $2); print $2; exit}' "$folder/out"; }
    note vllm-rs "$(figure 'Output token throughput')" "$(figure 'Mean TTFT')" "$(figure 'P99 TTFT')"
done
printf '%-10s %12s %14s %13s %10s\n' client 'tok/s' 'mean TTFT ms' 'p99 TTFT ms' 'peak MiB'
for client in ours ${peer:+vllm-rs}; do
    printf '%-10s %12.0f %14.2f %13.2f %10.0f\n' "$client" "$(median <"$folder/$client.rate")" \
        "$(median <"$folder/$client.mean")" "$(median <"$folder/$client.p99")" "$(median <"$folder/$client.rss")"
done
