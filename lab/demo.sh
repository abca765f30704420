#!/usr/bin/env bash
# A whole study in half a minute: the same prompts at a baseline and at an optimized engine, both simulated.
# Leaves its prompts, records and reports in the folder named as first argument (default: target/demo).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
study=${1:-$root/target/demo}
export PATH="${CARGO_TARGET_DIR:-$root/target}/release:$PATH"
mkdir -p "$study"
cd "$study"

{
  gen-dataset random --workload chat --id-prefix chat- --input-len 256 --output-len 64 --num-prompts 120 --seed 1
  gen-dataset random --workload long --id-prefix long- --input-len 1500 --prefix-len 500 --output-len 50 \
    --num-prompts 60 --seed 2
} >prompts.jsonl

run() { # run PRESET: fires the prompts at that engine and keeps the records
  sim-server --preset "$1" --port 0 >"$1.url" 2>"$1.log" &
  local server=$!
  trap 'kill $server' EXIT
  until [ -s "$1.url" ]; do sleep 0.05; done
  fire-requests prompts.jsonl --base-url "$(cat "$1.url")" --backend openai-chat --max-concurrency 48 --ignore-eos \
    --run "$1" --label engine="$1" --output "$1.jsonl" --overwrite
  kill "$server"
  wait "$server" 2>/dev/null || true
  trap - EXIT
}

for preset in baseline optimized; do
  run "$preset"
  echo "== $preset"
  summarize "$preset.jsonl"
  echo
done

echo "== baseline against optimized, by workload"
compare --by workload baseline.jsonl optimized.jsonl | tee comparison.txt
