# The commands of this repository. A machine needs make, Python 3.11 or later and a
# package registry; everything else is installed into .venv.
#
#   make demo       install, and run the main job without account and network
#   make test       everything; the last line is pytest's own
#   make clis       install the provider CLIs that the tests run, into .cache/clis
#   make clients    install other people's MCP clients, into .cache/conformance
#   make check      the fast loop: formatting, lint, layers, types, tests that are not slow
#   make coverage   everything, and say which lines nothing ran
#   make diagrams   draw the diagrams anew, from a recorded run
#   make format     format the code and fix what can be fixed
#   make clean      remove what these commands made
#
# Another interpreter: make test PYTHON=python3.13

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test coverage clis clients check diagrams format clean
.DELETE_ON_ERROR:

VENV ?= .venv
BIN := $(VENV)/bin
IS_NEW := import sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c '$(IS_NEW)' 2>/dev/null && echo $$python && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# More than a gigabyte, so that every environment of the checkout shares them.
CLIS := .cache/clis
CONFORMANCE := .cache/conformance
STATIC := tests/packaging/test_static_checks.py

# What decides the installed packages; a stamp older than these installs again.
REQUIREMENTS := setup.cfg pyproject.toml

help:
	@sed -n 's/^#   make/make/p' Makefile

$(BIN)/.created:
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or later here; name one: make PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c '$(IS_NEW)' || { echo "$(PYTHON) is older than Python 3.11." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { \
		echo "$(PYTHON) can't make environments; on Debian, install python3-venv." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(BIN)/.installed: $(BIN)/.created $(REQUIREMENTS)
	$(PIP) install --editable .
	@touch $@

$(BIN)/.developing: $(BIN)/.created $(REQUIREMENTS)
	$(PIP) install --editable '.[dev]'
	@touch $(BIN)/.installed $@

demo: $(BIN)/.installed
	@mkdir -p .cache
	@$(BIN)/toolcrib demo --diagram .cache/demo.mmd

test: $(BIN)/.developing clis clients
	@$(BIN)/python -m pytest --durations=10

# Apart from `make test`, since measuring makes a third more of every line.
coverage: $(BIN)/.developing clis clients
	@$(BIN)/python -m pytest --cov

clis: $(CLIS)/.installed

$(CLIS)/.installed: tests/real_providers/clis.txt | $(BIN)/.created
	@.ci/clis $(BIN)/python $(CLIS) tests/real_providers/clis.txt

clients: $(CONFORMANCE)/.installed

$(CONFORMANCE)/.installed: $(wildcard tests/conformance/package*.json) | $(BIN)/.developing
	@$(BIN)/python tests/conformance/install.py $(CONFORMANCE)

# The static checks come first: they are quick, and most often at fault.
check: $(BIN)/.developing
	@$(BIN)/python -m pytest $(STATIC)
	@$(BIN)/python -m pytest -m 'not slow' --ignore $(STATIC)

diagrams: $(BIN)/.installed
	$(BIN)/toolcrib diagrams diagrams

format: $(BIN)/.developing
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf $(VENV) .cache build dist *.egg-info .hypothesis .import_linter_cache
	find . -name .git -prune -o \( -name __pycache__ -o -name '.*_cache' \) -print0 | xargs -0 rm -rf
