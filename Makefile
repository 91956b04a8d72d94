# Every job of the house is one command. `make` alone says which.
# A fresh machine needs Python 3.11 or newer, git, make and a package index; `.venv` is made on first use.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.set-up
EVENTS := ../shared/data/claude-code/compaction_events.jsonl.gz

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-models check format docs bench-sizes bench-store bench-turn bench-cache bench-traffic bench-search bench-planted bench-retention bench-gateway clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(STAMP) ## make .venv with Clew and its tools, once

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Clew needs Python 3.11 or newer; nothing was set up. Name one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)' >&2; exit 1; }
	@echo 'Setting up $(VENV) (once) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo 'Python could not make $(VENV); nothing was set up. On Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]' || \
		{ echo 'The packages could not be installed; $(VENV) was kept as far as it got. Check that the package index can be reached, then run make again.' >&2; exit 1; }
	@touch $@

demo: $(STAMP) ## compact a shipped long session and show what was kept
	@$(BIN)/clew demo

test: $(STAMP) ## the whole suite but for real models
	@$(BIN)/python -m pytest -n 2 -q -m 'not real_model'

test-models: $(STAMP) ## real small models write briefs and chat; skipped aloud where they cannot be had
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[local]' || \
		echo 'The local model runtime could not be installed: the tests that need it are skipped.'
	@$(BIN)/python -m pytest -q -m real_model

check: $(STAMP) ## ruff, mypy strict, freshness of the generated docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python tools/docs.py --check

format: $(STAMP) ## let ruff mend what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(STAMP) ## write docs/reference anew from the code
	@$(BIN)/python tools/docs.py

bench-sizes: $(STAMP) ## the estimator against a real tokenizer
	@$(BIN)/python -m bench.sizes

bench-store: $(STAMP) ## what opening and appending cost as a session grows
	@$(BIN)/python -m bench.store

bench-turn: $(STAMP) ## what a turn costs beside a bare loop
	@$(BIN)/python -m bench.turn

bench-cache: $(STAMP) ## what prompts cost with and without pruning, on recorded sessions
	@$(BIN)/python -m bench.cache

bench-traffic: $(STAMP) ## what consecutive requests share, in bytes over HTTP
	@$(BIN)/python -m bench.traffic

bench-search: $(STAMP) ## search over a session of 100,000 entries
	@$(BIN)/python -m bench.search

bench-planted: $(STAMP) ## planted facts through five compactions, with every kind of bad summariser
	@$(BIN)/python -m bench.planted

bench-gateway: $(STAMP) ## what the gateway costs beside a bare proxy
	@$(BIN)/python -m bench.gateway

bench-retention: $(STAMP) ## what recorded compactions would have kept
	@$(BIN)/python -m bench.retention --data $(EVENTS) --recall 2000

clean: ## take away everything that make made
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
