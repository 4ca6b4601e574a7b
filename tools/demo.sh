#!/bin/sh
# What `make demo` shows: a real program's log checked, a violation explained, a law drawn, and the speed of it.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@" || [ $? -eq 1 ]; }

lawful --version

say "1. A real program: Python's zipfile packs this project, and every open, read, write and close is logged."
python examples/log_files.py "$work/zipfile.jsonl" zipfile -c "$work/project.zip" src tests docs
show lawful trace info "$work/zipfile.jsonl" --top 5
say "   Does it close every file, and use none after that? (examples/rml/files.rml)"
show lawful check examples/rml/files.rml --trace "$work/zipfile.jsonl"

say "2. The published law of safe hash sets, on the program of its paper: a set is changed while it is an element."
show lawful check examples/rml/safe_hash_set.rml --trace examples/rml/safe_hash_set.rejected.11.jsonl

say "3. What a law says, drawn."
show lawful laws explain examples/rml/files.rml --mermaid

say "4. Speed: a million events over 1,000 files that are open at once, read from JSON."
python tools/make_trace.py "$work/files.jsonl" 1000000 1000
start=$(date +%s.%N)
show lawful check examples/rml/files.rml --trace "$work/files.jsonl" --no-progress
awk "BEGIN { t = $(date +%s.%N) - $start; printf \"%.2f s, start-up and JSON included: %.1f million events per second\n\", t, 1 / t }"
