# Everything a checkout needs, in one file. `make` alone lists it.
# Needs git, make, a Python of 3.11 or newer, and the package registry; nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
STAMP := .venv/.ready
WORKERS ?= 3
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start hundreds of processes: where bytecode is not kept, each compiles everything it imports anew.
unexport PYTHONDONTWRITEBYTECODE

# The newest Python that starts: a version manager's shim may be there and still refuse.
define FIND_PYTHON
for name in $${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3 python}; do \
  if "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
    echo "$$name"; exit 0; \
  fi; \
done; \
echo "Muniment needs Python 3.11 or newer with venv and pip. Install one (Debian: apt install python3 python3-venv)," >&2; \
echo "or name it: make PYTHON=/path/to/python3.12 setup" >&2; \
exit 1
endef

# uv, itself pinned by the lock, takes 5 seconds where pip takes 75; pip knows every mirror a machine may be set up for.
define INSTALL
awk '/^uv==/ {on = 1} on {print} on && !/\\$$/ {exit}' requirements.lock >.venv/uv.lock; \
$(BIN)/python -m pip install -qq --require-hashes --requirement .venv/uv.lock 2>/dev/null && \
UV_SYSTEM_CERTS=true $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements.lock 2>/dev/null || { \
  echo "... with pip, a minute or two"; \
  $(BIN)/python -m pip install -qq --require-hashes --requirement requirements.lock; \
}
endef

PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup
PROXY_TESTS = tests/proxy $(wildcard tests/unit/test_proxy_*.py) tests/integration/test_proxy_accounts.py
FAILED = echo "make test: a test failed, or too little of the proxy is covered; it is named above. Run it alone: $(BIN)/pytest PATH::NAME" >&2; exit 1

DOCS = $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -c docs/site

.PHONY: help setup run test check lint format-check types imports shape docs docs-check format lock notice schema bench clean

help: ## list the commands
	@awk -F ': .*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## make .venv with everything that is locked, and fetch the embedder (quick the second time)

$(STAMP): pyproject.toml requirements.lock memory/models/onnx/fetch.py
	@python="$$($(FIND_PYTHON))"; \
	if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  echo "Making .venv with $$("$$python" --version)"; \
	  "$$python" -m venv --clear .venv; \
	fi
	@echo "Installing what requirements.lock names"
	@$(INSTALL)
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m muniment.memory.models.onnx.fetch \
	  "$$($(BIN)/python -c 'from muniment import load_settings; print(load_settings().embedder_folder)')"
	@touch $@
	@echo "Ready. Try: make run"

run: setup ## chat with the memory, no key and no database needed
	@$(BIN)/muniment chat

# The proxy's own tests come first, in a run of their own that says what they enter of it; CI reads the count of the last.
# What `check` has run is not run again.
test: setup ## check, then every test
	@$(MAKE) --jobs=2 check docs-check
	@$(PYTEST) $(PROXY_TESTS) --cov --cov-config=tests/proxy/coverage.ini --cov-report=term:skip-covered --cov-fail-under=95 || { $(FAILED); }
	@$(PYTEST) $(addprefix --ignore=,$(PROXY_TESTS) tests/test_shape.py) || { $(FAILED); }

check: lint format-check types imports shape ## lint, format, types, import direction, shape

lint: setup
	@$(BIN)/ruff check --quiet --output-format concise . || { echo "make check: fix what ruff names above; some of it with: $(BIN)/ruff check --fix ." >&2; exit 1; }

format-check: setup
	@$(BIN)/ruff format --quiet --check . || { echo "make check: run make format" >&2; exit 1; }

types: setup
	@$(BIN)/mypy --no-error-summary || { echo "make check: fix the types that mypy names above" >&2; exit 1; }

imports: setup
	@out="$$($(BIN)/lint-imports --no-logo 2>&1)" || { echo "$$out"; echo "make check: an import goes the wrong way; the contract broken above says which is allowed (CONTRIBUTING.md)" >&2; exit 1; }

shape: setup
	@$(BIN)/python -m pytest -q --no-header -p no:cacheprovider tests/test_shape.py >.venv/shape.log 2>&1 || { cat .venv/shape.log; echo "make check: a ceiling of tests/test_shape.py is passed; each message above says what to do" >&2; exit 1; }

docs: setup ## build the pages and the reference into build/docs
	@mkdir -p build
	@$(BIN)/python -m tests.walk --list >build/walks.txt
	@$(DOCS) -b html -d build/doctrees docs build/docs || { echo "make docs: mend what Sphinx names above" >&2; exit 1; }
	@echo "The pages are in build/docs/index.html"

docs-check: setup
	@mkdir -p build && touch build/walks.txt
	@$(DOCS) -b dummy -d build/doctrees-check docs build/docs-check || { echo "make docs-check: mend what Sphinx names above" >&2; exit 1; }

format: setup ## format the code, and fix what can be fixed
	@$(BIN)/ruff check --quiet --fix --exit-zero . && $(BIN)/ruff format --quiet .

lock: setup ## write requirements.lock anew from pyproject.toml
	@UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --all-extras --group dev --group docs --python-version 3.11 --output-file requirements.lock
	@echo "requirements.lock is written; make setup installs it"

notice: setup ## write NOTICE anew, the licences of what is installed
	@$(BIN)/python -m tests.notice

schema: setup ## write migrations/schema.sql anew from the migrations
	@$(BIN)/python -m tests.schema

bench: setup ## what it costs and how well it finds
	@$(BIN)/python -m benchmarks

clean: ## remove everything that make made
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
