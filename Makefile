# Everything a user or a developer runs. `make` alone prints this list.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help install run test test-system golden fuzz check bench reproduce format lint typecheck imports docs page clean java jars kafka chaos soak audit

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(STAMP) ## set up .venv with everything (again only when its inputs change)

# The locked versions keep installs alike; drop the file to take the newest that fit.
$(STAMP): pyproject.toml $(wildcard requirements.lock)
	@.ci/make_venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    $(if $(wildcard requirements.lock),--constraint requirements.lock) --editable ".[spark,cli,report,sql,metrics,docs,dev]"
	@touch $@

java:
	@.ci/need_java

jars: java install ## Kafka's connector and a broker, for the tests that need them; needs mvn
	@$(BIN)/python scripts/jars.py

kafka: jars ## the Kafka example: a broker, two topics in, one out, every message counted
	@$(BIN)/python -m examples.kafka_count

run: java install ## calls and trades with a burst: about a minute and a half
	@$(BIN)/streamjoin run examples/burst.toml

# The tests of a file stay together, for they share what it sets up; and files keep their order,
# for xdist would leave those of few tests, the longest, to the end.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test: java install ## the tests that run in one process or in one Spark session
	@$(PYTEST) -m "not system and not alone"

test-system: java install ## those with clusters, servers, browsers, kills; upgrades, papers, documents
	@$(PYTEST) -m "system and not alone" tests
	@$(BIN)/python -m pytest -m alone tests

golden: java install ## rewrite the golden files: explanations, help pages, names, counters
	@STREAMJOIN_GOLDEN=update $(BIN)/python -m pytest -q tests/golden

SECONDS_EACH ?= 30
fuzz: java install ## random examples, then guided by coverage; new ones in each run
	@STREAMJOIN_FUZZ=1 $(BIN)/python -m pytest -m "not alone and not spark" -n 2 tests
	@$(BIN)/python -m tests.fuzz --if-installed --seconds $(SECONDS_EACH)

N ?= 100
SEED ?= 7
chaos: java install ## kill what can be killed N=100 times, and compare results; rewrites docs/chaos.md
	@$(BIN)/python -m tests.system.chaos --kills $(N) --seed $(SEED) --report docs/chaos.md

MINUTES ?= 30
soak: java install ## joins for MINUTES=30, and whether anything grows; rewrites docs/soak.md
	@$(BIN)/python -m tests.system.soak --minutes $(MINUTES) --report docs/soak.md

# In an environment of its own: what audits is not among what is audited.
audit: install ## known vulnerabilities of the locked versions; needs a network
	@$(BIN)/python -m venv output/audit
	@output/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	@output/audit/bin/pip-audit --strict --no-deps --disable-pip --requirement requirements.lock

check: lint typecheck imports docs ## style, types, layers, documents; edits nothing

bench: java install ## every benchmark, one after the other
	@$(BIN)/streamjoin bench

reproduce: java install ## judge the papers' claims at full sizes; rewrites docs/papers.md
	@$(BIN)/streamjoin reproduce

format: install ## rewrite the code in the project's style
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format --quiet .

lint: install ## ruff: rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

typecheck: install ## mypy --strict
	@$(BIN)/mypy

imports: install ## who may import whom
	@$(BIN)/lint-imports

docs: install ## the documentation into site/, every link checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@$(BIN)/python scripts/check_docs.py

page: ## build the live page into the package; needs npm
	@cd page && npm ci --silent && npm run build

clean: ## remove .venv, caches and outputs
	@rm -rf .venv dist output site page/node_modules .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
