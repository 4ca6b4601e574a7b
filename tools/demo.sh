#!/bin/sh
# What `make demo` shows: mistakes found with a law and without, real programs watched, a published law, and the speed of it.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@" 2>&1 || [ $? -eq 1 ]; }
now() { python -c 'import time; print(time.time())'; }
home() { python -c "import $1, os; print(os.path.$2($1.__file__))"; }

lawful --version

say "1. A shop with a mistake, and a law about its carts. (examples/watching)"
show lawful run --law examples/watching/cart.rml examples/watching/shop.py

say "2. No law at all: a program that closes its cursors, but for one. (examples/learning)"
show lawful run examples/learning/orders.py

say "3. The first law while its tests run. They pass."
(cd examples/watching && show pytest -q -p no:cacheprovider --lawful)

say "4. A real program: Pygments colours the source of Python's typing module, under all laws of the catalogue's profile std."
cp -R "$(home pygments dirname)" "$work/pygments" # from the installed packages into a project: now it is own code
typing=$(home typing abspath)
(
    cd "$work"
    start=$(now)
    python -m pygments -l python -f html -o plain.html "$typing"
    middle=$(now)
    show lawful run --law std -m pygments -l python -f html -o watched.html "$typing"
    end=$(now)
    cmp plain.html watched.html && echo "Its output is the same, byte for byte."
    awk "BEGIN { printf \"%.1f s alone, %.1f s watched and judged by the laws of std\n\", $middle - $start, $end - $middle }"
)

say "5. A real mistake: a file that Python's own optparse leaves open."
cp "$(home optparse abspath)" "$work/optparse.py"
echo "colour = 'green'" > "$work/settings.conf"
cat > "$work/options.py" << 'PROGRAM'
import optparse

options = optparse.Values({"colour": "red"})
options.read_file("settings.conf")
print(options)
PROGRAM
(cd "$work" && show lawful run --law files options.py)

say "6. Any program's events, recorded: Python's zipfile packs the sources. How near are the events of one object?"
show lawful record -o "$work/zipfile.jsonl" --public zipfile -m zipfile -c "$work/sources.zip" src
show lawful trace info "$work/zipfile.jsonl" --top 3
show lawful locality "$work/zipfile.jsonl"

say "7. How sure? A law about each of 100,000 accounts. Some are followed, until one can be sure. (examples/sampling)"
show lawful run --confidence 0.999 --error-rate 0.001 --law examples/sampling/bank.toml examples/sampling/bank.py 100000

say "8. The published law of safe hash sets, on a trace of a Java program: a set is changed while it is an element."
show lawful check examples/rml/safe_hash_set.rml --trace examples/rml/safe_hash_set.rejected.11.jsonl

say "9. Why does it fail? All the ways to the failing assertion of a linked list, with an input for each. (examples/explain)"
show lawful explain examples/explain/python/bubble_sort.py:main --unwind 2 --word-length 8

say "10. Workers that pass messages, held to a protocol with data: the published case study, with its bug. (examples/replication)"
show lawful run examples/replication/replication_asyncio.py --bug

say "11. Speed: a million events over 1,000 files that are open at once, read from JSON."
python tools/make_trace.py "$work/files.jsonl" 1000000 1000
start=$(now)
show lawful check examples/rml/files.rml --trace "$work/files.jsonl" --no-progress
awk "BEGIN { t = $(now) - $start; printf \"%.2f s, start-up and JSON included: %.1f million events per second\n\", t, 1 / t }"
