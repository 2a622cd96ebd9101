# Everything starts here, from nothing but Python 3.11 or newer and make.
# `make` alone lists the targets. Override the interpreter with `make test PYTHON=python3.13`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
UV := $(shell command -v uv 2>/dev/null)
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo "$$candidate"; break; }; done)

# Two workers: the suite starts real servers, and more of them than cores only adds noise.
WORKERS ?= 2
PYTEST := $(BIN)/pytest --numprocesses $(WORKERS)
PIP_INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check
# A build that runs on any machine of this architecture, not only on the one that made it.
LOCAL_CMAKE ?= -DGGML_NATIVE=OFF
PROJECTS := pyproject.toml bench/pyproject.toml
# Pure rooms must be covered by instant tests: a branch that only an integration test reaches does not count.
COVERAGE_TESTS ?= $(wildcard tests/unit tests/properties)

.PHONY: help
help: ## list the targets
	@echo "lapse: pick a target; each one sets up $(VENV) first if it has to."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "New here? Start with: make demo"

# --- set-up -------------------------------------------------------------------------------------
# A stamp per set of packages: set-up runs once, and again when a pyproject file changes.

$(PY):
	@if [ -z "$(PYTHON)" ]; then \
		echo "error: Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python" >&2; exit 1; fi
	@echo "[set-up] a virtual environment in $(VENV), from $(PYTHON)"
ifdef UV
	@$(UV) venv --quiet --allow-existing --python "$(PYTHON)" $(VENV)
else
	@"$(PYTHON)" -m venv $(VENV) || { \
		echo "error: this Python has no venv module (on Debian: apt install python3-venv)" >&2; exit 1; }
endif

$(VENV)/.use-stamp: $(PROJECTS) | $(PY)
	@echo "[set-up] lapse with its extras, and lapse-bench (a minute at most on a usual line)"
ifdef UV
	@UV_PROJECT_ENVIRONMENT=$(VENV) $(UV) sync --quiet --inexact --no-default-groups --all-packages --all-extras --no-extra local
else
	@$(PIP_INSTALL) --editable '.[all]' --editable bench
endif
	@touch $@

$(VENV)/.dev-stamp: $(PROJECTS) | $(PY)
	@echo "[set-up] lapse, lapse-bench, and the tools for tests, checks and docs (one to two minutes)"
ifdef UV
	@UV_PROJECT_ENVIRONMENT=$(VENV) $(UV) sync --quiet --inexact --all-groups --all-packages --all-extras --no-extra local
else
	@$(PIP_INSTALL) --upgrade 'pip>=25.1' # older ones know no dependency groups
	@$(PIP_INSTALL) --editable '.[all]' --editable bench --group dev --group docs
endif
	@touch $(VENV)/.use-stamp $@

# The model's runtime is compiled, once, in five minutes on two cores; the fast suite does without.
$(VENV)/.local-stamp: $(VENV)/.dev-stamp
	@echo "[set-up] the local model and its runtime, which is compiled (five to ten minutes, once)"
ifdef UV
	@UV_PROJECT_ENVIRONMENT=$(VENV) CMAKE_ARGS="$(LOCAL_CMAKE)" \
		$(UV) sync --quiet --inexact --all-groups --all-packages --all-extras
else
	@CMAKE_ARGS="$(LOCAL_CMAKE)" $(PIP_INSTALL) --editable '.[local]'
endif
	@touch $@

.PHONY: setup
setup: $(VENV)/.dev-stamp ## set up .venv with everything a contributor needs
	@echo "Ready. Next: make test"

# --- use ----------------------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/.use-stamp ## watch an agent's memory go wrong, then stop going wrong (one minute)
	@$(BIN)/lapse demo
	@echo "Next: make test (the fast suite), or read docs/quickstart.md"

.PHONY: bench
bench: $(VENV)/.use-stamp ## run the evaluations and the speed ratios; results go to bench/results/
	@mkdir -p bench/results
	@echo "[bench] payments stream, both planners"
	@$(BIN)/lapse-bench run payments --planner oldest --format json > bench/results/payments-oldest.json
	@$(BIN)/lapse-bench run payments --planner newest --format json > bench/results/payments-newest.json
	@for trace in twilio adyen endoflife; do \
		echo "[bench] organic drift: $$trace"; \
		$(BIN)/lapse-bench run organic --trace "$$trace" --format json > "bench/results/organic-$$trace.json"; \
	done
	@echo "[bench] speed, as ratios within one run"
	@$(BIN)/lapse-bench speed --format json > bench/results/speed.json
	@echo "Next: look into bench/results/, and at docs/ for what the numbers mean"

# --- prove --------------------------------------------------------------------------------------

.PHONY: test
test: $(VENV)/.dev-stamp ## the fast suite
	@echo "[test] the fast suite, $(WORKERS) workers"
	@$(PYTEST) -m 'not slow'
	@echo "Next: make check (lint, types, imports, docs, coverage, wheel), or make test-all"

.PHONY: test-all
test-all: $(VENV)/.local-stamp ## every test, the slow ones too, those of the local model among them
	@echo "[test] everything, $(WORKERS) workers"
	@LAPSE_TEST_EVERYTHING=1 $(PYTEST)
	@echo "Next: make check"

.PHONY: check
check: lint types imports twins fragments docs coverage wheel ## all that must hold apart from the tests
	@echo "All checks passed. Next: commit, with a fragment in changelog.d/ if a user can notice the change"

.PHONY: lint
lint: $(VENV)/.dev-stamp ## formatting and lint
	@echo "[check] formatting and lint"
	@$(BIN)/ruff format --check --quiet || { $(BIN)/ruff format --diff --quiet | head -60; \
		echo "error: not formatted; run: make fix" >&2; exit 1; }
	@$(BIN)/ruff check --quiet

.PHONY: fix
fix: $(VENV)/.dev-stamp ## format, and repair what lint can repair; regenerate the sync twins
	@$(BIN)/ruff format --quiet
	@$(BIN)/ruff check --fix --quiet || true
	@$(BIN)/ruff format --quiet
	@$(PY) tools/async_to_sync.py
	@echo "Next: git diff, then make check"

.PHONY: types
types: $(VENV)/.dev-stamp ## strict types
	@echo "[check] types"
	@$(BIN)/basedpyright

.PHONY: imports
imports: $(VENV)/.dev-stamp ## who may import whom
	@echo "[check] import contracts"
	@$(BIN)/lint-imports --no-logo

.PHONY: twins
twins: $(VENV)/.dev-stamp ## generated sync modules match their async originals
	@echo "[check] sync twins"
	@$(PY) tools/async_to_sync.py --check

.PHONY: fragments
fragments: $(VENV)/.dev-stamp ## changelog fragments are well formed
	@echo "[check] changelog fragments"
	@$(BIN)/towncrier build --draft --version next > /dev/null

.PHONY: coverage
coverage: $(VENV)/.dev-stamp ## the pure rooms are covered, every branch
	@echo "[check] branch coverage of the pure rooms"
	@$(PYTEST) --quiet -m 'not slow' --cov --cov-report=term-missing:skip-covered $(COVERAGE_TESTS)

.PHONY: wheel
wheel: $(VENV)/.dev-stamp ## the built wheels work with src/ out of reach
	@echo "[check] wheels"
	@$(PY) tools/try_wheel.py

.PHONY: lock
lock: $(VENV)/.dev-stamp ## write uv.lock again, after a change of dependencies
ifdef UV
	@$(UV) lock --quiet
else
	@$(PIP_INSTALL) uv
	@$(BIN)/uv lock --quiet
endif
	@echo "Next: git diff --stat uv.lock, and commit it with the change that asked for it"

.PHONY: docs
docs: $(VENV)/.dev-stamp ## build the documentation, strictly, into site/
	@echo "[docs] building site/"
	@$(BIN)/zensical build --strict --clean
	@echo "Next: open site/index.html"

.PHONY: clean
clean: ## remove the environment and everything generated
	@rm -rf $(VENV) build dist bench/dist site htmlcov .coverage .coverage.* .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Clean. Next: make demo"
