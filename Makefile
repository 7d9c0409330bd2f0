# make run | make test | make bench: each sets up what it needs; a second call installs nothing.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: run test bench slow clean

run: $(VENV)/.base
	$(BIN)/attitude run --out out

test: $(VENV)/.test
	$(BIN)/ruff check attitude sims hil tests
	$(BIN)/mypy
	$(BIN)/pytest

slow: $(VENV)/.test $(VENV)/.peers
	$(BIN)/pytest -m "slow or peers"

bench: $(VENV)/.peers
	$(BIN)/attitude bench

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

# Peers are optional: those that do not install on this machine are left out of the tables.
$(VENV)/.peers: $(VENV)/.base
	for peer in bsk heyoka mujoco opengnc ahrs; do \
	  $(BIN)/pip install --quiet --disable-pip-version-check $$peer || echo "peer $$peer is not available here"; \
	done
	touch $@

clean:
	rm -rf $(VENV) out build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
