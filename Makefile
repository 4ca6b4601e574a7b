# Everything runs in .venv, which is made anew when what it is made from changes.

BIN := .venv/bin
STAMP := .venv/.stamp
NATIVE := src/lawful/_native
CORE := setup.py $(wildcard $(NATIVE)/*.c $(NATIVE)/*/*.c $(NATIVE)/*/*.h)
PYTEST_ARGS ?= -q -n auto

# The tests choose the core themselves, whatever the caller's shell says.
unexport LAWFUL_CORE

.DEFAULT_GOAL := help
.PHONY: help venv cbmc demo test versions sanitize lint bench docs site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(STAMP) ## make .venv with the newest CPython found and build the C core (PYTHON=... overrides)

.venv/.deps: requirements/ci.txt tools/find-python
	rm -rf .venv
	python="$${PYTHON:-$$(tools/find-python)}" && echo "using $$python" && "$$python" -m venv .venv
	$(BIN)/python -m pip install -q -r requirements/ci.txt
	@touch $@

# A core from an earlier build must not stand in for one that fails to build now.
$(STAMP): .venv/.deps pyproject.toml $(CORE)
	rm -rf build $(NATIVE)/*.so
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src/lawful # some shells tell Python not to keep what it compiled
	@touch $@
	@$(BIN)/lawful --version

# What knows nothing of the cores is not tested twice, nor what holds both against each other in one run.
SAME_ON_BOTH = tests/benchmarks tests/events tests/oracle tests/test_docs.py tests/laws/rml/test_parser_fuzz.py \
	tests/laws/rml/test_checker.py tests/learning/test_templates.py tests/learning/test_store.py tests/confidence \
	tests/laws/rml/test_engine.py tests/laws/rml/test_forgive.py tests/laws/rml/test_expectation.py \
	tests/laws/rml/test_conformance.py tests/laws/invariants/test_invariants_cores.py tests/learning/test_object_histories.py \
	tests/learning/test_window.py tests/reports tests/examples tests/web tests/explain \
	tests/cli/test_confidence.py tests/cli/test_diagram.py tests/cli/test_formats.py tests/cli/test_baseline.py \
	tests/cli/test_explain.py tests/cli/test_diff.py tests/cli/test_merge.py tests/cli/test_laws_catalogue.py \
	tests/test_docs_python.py tests/test_docs_catalog.py tests/test_docs_slugs.py \
	tests/test_docs_errors.py tests/test_docs_api.py

demo: venv ## see what Lawful does
	@tools/demo.sh

cbmc: venv ## get CBMC, which explains C programs, where the machine has none
	@tools/get-cbmc

test: venv ## run the tests on the C core and on the pure-Python one
	$(BIN)/python -m pytest $(PYTEST_ARGS)
	@if $(BIN)/python -c 'import lawful.core, sys; sys.exit(not lawful.core.NATIVE)'; then \
		echo "again, on the pure-Python core"; \
		LAWFUL_CORE=python $(BIN)/python -m pytest $(PYTEST_ARGS) $(SAME_ON_BOTH:%=--ignore=%); \
	else \
		echo "no second run: $$($(BIN)/python -c 'import lawful.core; print(lawful.core.describe())'), so it was the first"; \
	fi

versions: venv ## run the tests of what depends on the interpreter on every other CPython found
	tools/test-versions

sanitize: venv ## run the tests of the C core under AddressSanitizer and UndefinedBehaviorSanitizer
	tools/sanitize

# Warnings of the compiler are errors here, and not when a user builds the core.
.cache/werror/.stamp: .venv/.deps $(CORE)
	tools/build-core .cache/werror -Werror
	@touch $@

lint: venv .cache/werror/.stamp ## check style, types, the import contracts and the compiler's warnings about the C core
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src/lawful tests/api_sample.py
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/lint-imports

bench: venv ## measure speed beside the peers
	$(BIN)/python benchmarks/rml.py
	$(BIN)/python benchmarks/watching.py

screenshots: venv ## make the pictures in the documentation anew, from real runs in a real browser
	tools/get-browser
	$(BIN)/python tools/screenshots.py

docs: venv ## write the reference of the Python API, and look for dead links in the documentation
	$(BIN)/python tools/make_api.py
	$(BIN)/python tools/check_docs.py

site: ## build the documentation as a site into build/site
	@tools/make-site

clean: ## remove everything that was made
	rm -rf .venv .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf src/*.egg-info $(NATIVE)/*.so
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
