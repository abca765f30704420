#!/bin/bash
# How long random prompts take to make, against vLLM's own Rust client in the same run.
#
#   bench/generation.sh [VLLM_RS TOKENIZER_FOLDER]
#
# VLLM_RS is the `vllm-rs` of vLLM's wheel, TOKENIZER_FOLDER a model's folder with tokenizer.json and config.json; both
# tools then read that tokenizer and are given the same flags. They take turns, ROUNDS (5) times; printed are medians of
# the wall time in seconds, what ours takes of the other's, and our peak memory. Build first: make build.
set -euo pipefail
cd "$(dirname "$0")/.."
ours=${BIN:-${CARGO_TARGET_DIR:-target}/release}/gen-dataset
peer=${1:-} tokenizer=${2:-qwen3} rounds=${ROUNDS:-5}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

median() { sort -n "$1" | awk '{x[NR]=$1} END {print NR % 2 ? x[(NR+1)/2] : (x[NR/2]+x[NR/2+1])/2}'; }
measure() { # FILE COMMAND...: appends the wall time in seconds to FILE
    local file=$1 TIMEFORMAT=%R
    shift
    { time "$@" >"$folder/out" 2>"$folder/err"; } 2>>"$file" || { cat "$folder/err" >&2; exit 1; }
}

printf '%-12s %-12s %8s %8s %6s %10s\n' prompts sampler ours vllm-rs ratio 'peak MiB'
for shape in '1000 128' '500 4000'; do
    read -r count length <<<"$shape"
    load=(--random-input-len "$length" --random-output-len 4 --num-prompts "$count" --seed 42)
    for like in '' vllm-0.11 vllm-0.33; do
        mine=("$ours" random "${load[@]}" --tokenizer "$tokenizer" ${like:+--like "$like"})
        rm -f "$folder"/{ours,peer}
        for ((round = 0; round < rounds; round++)); do
            measure "$folder/ours" "${mine[@]}"
            [ -z "$peer" ] || measure "$folder/peer" "$peer" bench serve --dry-run --model x --tokenizer "$tokenizer" \
                --dataset-name random "${load[@]}"
        done
        a=$(median "$folder/ours") b=- ratio=- peak=-
        [ -z "$peer" ] || { b=$(median "$folder/peer"); ratio=$(awk "BEGIN {printf \"%.2f\", $a/$b}"); }
        ! [ -x /usr/bin/time ] || peak=$(/usr/bin/time -f %M "${mine[@]}" 2>&1 >/dev/null | tail -1 | awk '{printf "%.0f", $1/1024}')
        printf '%-12s %-12s %8s %8s %6s %10s\n' "${count}x$length" "${like:-own}" "$a" "$b" "$ratio" "$peak"
    done
done
