# Each target does all of its own set-up: Python 3.11+ and make are enough.
PYTHON ?= python3
UV_VERSION := 0.13.9
UV := .tools/bin/uv
RUN := .venv/bin
EMULATORS := $(RUN)/python -m tests.emulators
# What the demo keeps records and events in.
BACKEND ?= embedded
# How many settlements the ledger's benchmark makes; KEEP is a directory in which they stay for the next time.
SETTLEMENTS ?= 1000000
KEEP ?=
# How many past validations the benchmark of governance makes.
VALIDATIONS ?= 1000000
# Which populations the report on governance makes, as in 101,103 or 101-104; those up to 20 may have been tuned on.
SEEDS ?= 101,102
# Whose branches are counted; all parts' unless named.
PART ?=
# How many generated requests the services are sent at least.
REQUESTS ?= 5000
WITH_embedded :=
WITH_emulators := $(EMULATORS) run --
PACKAGES := $(wildcard libs/*/pyproject.toml services/*/pyproject.toml)
# How many inputs each property of the fuzzing gets.
EXAMPLES ?= 2000
export UV_PYTHON_DOWNLOADS := never
# Bytecode is written on first import, whatever the caller's shell says: starts are twice as fast.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check static up emulators schemas indexes topology dashboards fidelity fuzz coverage bench bench-clients bench-ledger bench-governance load governance-report simulate hostile clean

help: ## What there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

demo: .venv/.ready ## Publish, deliver, verify and settle real work, on this machine (BACKEND=embedded|emulators)
	@case '$(BACKEND)' in embedded|emulators) ;; *) echo "BACKEND=$(BACKEND) is not known: embedded, the default, or emulators" >&2; exit 2;; esac
	@$(WITH_$(BACKEND)) $(RUN)/aex demo

up: .venv/.ready ## Start the four services and leave them running
	@$(RUN)/aex up

emulators: .venv/.ready ## Start Google's emulators of Firestore and Pub/Sub, and print the variables that lead to them
	@$(EMULATORS)

check: static ## The quick tier: format, lint, types, architecture, unit and embedded tests
	$(RUN)/pytest -n 2 -m "not e2e and not emulator and not slow"

test: static ## Everything
	$(RUN)/pytest -n 3 --dist worksteal

static: .venv/.ready
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports

schemas: .venv/.ready ## Write the events' JSON Schemas anew from the models
	$(RUN)/python -m aex_models.event_schemas --write

indexes: .venv/.ready ## Write deploy/firestore.indexes.json anew from the declared collections
	$(RUN)/python -m deploy.write_indexes

topology: .venv/.ready ## Write deploy/pubsub.json anew from the declared topics
	$(RUN)/python -m deploy.write_topology

dashboards: .venv/.ready ## Write deploy/dashboards/overview.json anew from its panels
	$(RUN)/python -m deploy.write_dashboards

fidelity: .venv/.ready ## How far the metrics are from the reference libraries, over 10,000 pairs each
	$(RUN)/python -m tests.fidelity

fuzz: .venv/.ready ## Parsers under EXAMPLES=2000 hostile inputs for each property; other ones each time
	AEX_FUZZ_EXAMPLES='$(EXAMPLES)' $(RUN)/pytest -n 2 --timeout=0 tests/fuzz

coverage: .venv/.ready ## Which branches of models, outcomes and rules their own tests take; fails below 95 % of any (PART=aex_models: one alone)
	@$(RUN)/python -m tests.branches $(PART)

bench: SETTLEMENTS := 100000
bench: .venv/.ready ## Every bar of speed as one table, each beside what it is measured against (ONLY=publishing,starting SETTLEMENTS=1000000 KEEP=DIR)
	@$(RUN)/python -m tests.benchmarks --settlements '$(SETTLEMENTS)' $(if $(ONLY),--only '$(ONLY)') $(if $(ROUNDS),--rounds '$(ROUNDS)') $(if $(KEEP),--keep '$(KEEP)')

bench-clients: .venv/.ready ## Store and bus on the emulators beside raw calls of Google's clients
	@$(EMULATORS) where > /dev/null
	$(RUN)/python -m tests.benchmarks.store_bench
	$(RUN)/python -m tests.benchmarks.bus_bench

bench-ledger: .venv/.ready ## Breakdowns and export of SETTLEMENTS=1000000 beside those of 10,000, checked by a recount (KEEP=DIR to reuse)
	$(RUN)/python -m tests.benchmarks.ledger_bench --settlements $(SETTLEMENTS) $(if $(KEEP),--keep '$(KEEP)')

bench-governance: .venv/.ready ## Validation time with VALIDATIONS=1000000 in the past beside that with 1,000, and a rebuild (KEEP=DIR to reuse)
	$(RUN)/python -m tests.benchmarks.governance_bench --validations $(VALIDATIONS) $(if $(KEEP),--keep '$(KEEP)')

load: REPLICAS := 1,2,3
load: .venv/.ready ## The main job under load, with REPLICAS=1,2,3 of each service (BACKEND=embedded,emulators CONTRACTS=600 PAIRS=24 ROUNDS=1)
	@$(RUN)/python -m tests.benchmarks.load --backends '$(BACKEND)' --replicas '$(REPLICAS)' $(if $(CONTRACTS),--contracts '$(CONTRACTS)') $(if $(PAIRS),--pairs '$(PAIRS)') $(if $(ROUNDS),--rounds '$(ROUNDS)')

governance-report: .venv/.ready ## How much fraud is caught and how much honest work is flagged, rule by rule (SEEDS=101,102)
	@$(RUN)/python -m tests.benchmarks.fraud --seeds '$(SEEDS)'

simulate: SEEDS := 200
simulate: .venv/.ready ## Run the four services under faults, from SEEDS=200 seeds (FIRST, STEPS, JOBS; PLANT=list: bugs to be caught; PLAN=FILE: one run)
	@$(RUN)/python -m tests.simulation --seeds '$(SEEDS)' $(if $(FIRST),--first '$(FIRST)') $(if $(STEPS),--steps '$(STEPS)') $(if $(JOBS),--jobs '$(JOBS)') $(if $(PLANT),--plant '$(PLANT)') $(if $(PLAN),--plan '$(PLAN)')

hostile: .venv/.ready ## Generated requests to all four services by their OpenAPI documents, told as one table (REQUESTS=5000)
	@$(RUN)/python -m tests.openapi --requests '$(REQUESTS)'

clean: ## Remove what the other targets made
	rm -rf .venv .tools .aex .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis .import_linter_cache

.tools/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.ready: $(UV) pyproject.toml uv.lock $(PACKAGES)
	$(UV) sync --quiet --locked --all-packages --all-extras --python $(PYTHON)
	@touch $@
