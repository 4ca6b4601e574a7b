#!/bin/sh
# What `make demo` shows.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/lawful --version
echo
.venv/bin/lawful --help
