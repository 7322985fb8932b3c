# Each target does its own set-up from Python 3.11+ and make.
PYTHON ?= python3
UV_VERSION := 0.13.9
UV := .tools/bin/uv
RUN := .venv/bin
EMULATORS := $(RUN)/python -m tests.emulators
# The backend of records and events.
BACKEND ?= embedded
# Settlements in the large ledger of the benchmark; a run reuses the data that another made in the folder KEEP.
SETTLEMENTS ?= 1000000
KEEP ?=
# Past validations in the benchmark of governance.
VALIDATIONS ?= 1000000
# Populations of the governance report, as in 101,103 or 101-104; seeds up to 20 are for tuning.
SEEDS ?= 101,102
# The package of the branch coverage; all when empty.
PART ?=
# The lowest number of generated requests.
REQUESTS ?= 5000
WITH_embedded :=
WITH_emulators := $(EMULATORS) run --
PACKAGES := $(wildcard libs/*/pyproject.toml services/*/pyproject.toml)
# Inputs of each fuzzed property.
EXAMPLES ?= 2000
export UV_PYTHON_DOWNLOADS := never
# Bytecode is written on first import in any shell: starts are twice as fast.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check static up emulators schemas indexes topology dashboards reference fidelity fuzz coverage bench bench-clients bench-ledger bench-governance load governance-report simulate hostile nightly clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

demo: .venv/.ready ## Publish, deliver, verify and settle real work on this machine (BACKEND=embedded|emulators)
	@case '$(BACKEND)' in embedded|emulators) ;; *) echo "BACKEND=$(BACKEND) is unknown: use embedded (default) or emulators" >&2; exit 2;; esac
	@$(WITH_$(BACKEND)) $(RUN)/aex demo

up: .venv/.ready ## Start the four services and keep them running
	@$(RUN)/aex up

emulators: .venv/.ready ## Start Google's emulators of Firestore and Pub/Sub and print their variables
	@$(EMULATORS)

check: static ## Check format, lint, types and architecture; run unit and embedded tests
	$(RUN)/pytest -n 2 --dist loadgroup --no-loadscope-reorder -m "not e2e and not emulator and not slow"

test: PROFILE := check
test: static ## Run all checks and tests (PROFILE=nightly: with all hypothesis examples)
	$(RUN)/pytest -n 3 --dist loadgroup --no-loadscope-reorder --hypothesis-profile $(PROFILE)

static: .venv/.ready
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/lint-imports
	$(RUN)/python -m tests.architecture.language

schemas: .venv/.ready ## Write the events' JSON Schemas from the models
	$(RUN)/python -m aex_models.event_schemas --write

indexes: .venv/.ready ## Write deploy/firestore.indexes.json from the declared collections
	$(RUN)/python -m deploy.write_indexes

topology: .venv/.ready ## Write deploy/pubsub.json from the declared topics
	$(RUN)/python -m deploy.write_topology

dashboards: .venv/.ready ## Write deploy/dashboards/overview.json from its panels
	$(RUN)/python -m deploy.write_dashboards

reference: .venv/.ready ## Write deploy/reference.md from models, settings, catalogue and rules
	$(RUN)/python -m deploy.write_reference

fidelity: .venv/.ready ## Compare each metric with its reference library over 10,000 pairs
	$(RUN)/python -m tests.fidelity

fuzz: .venv/.ready ## Fuzz the parsers with EXAMPLES=2000 new hostile inputs per property
	AEX_FUZZ_EXAMPLES='$(EXAMPLES)' $(RUN)/pytest -n 2 --timeout=0 tests/fuzz

coverage: .venv/.ready ## Measure the branch coverage of models, outcomes and rules; fail below 95 % of any (PART=aex_models)
	@$(RUN)/python -m tests.branches $(PART)

bench: SETTLEMENTS := 100000
bench: .venv/.ready ## Print every bar of speed as one table (ONLY=publishing,starting ROUNDS=5 SETTLEMENTS=1000000 KEEP=DIR)
	@$(RUN)/python -m tests.benchmarks --settlements '$(SETTLEMENTS)' $(if $(ONLY),--only '$(ONLY)') $(if $(ROUNDS),--rounds '$(ROUNDS)') $(if $(KEEP),--keep '$(KEEP)')

bench-clients: .venv/.ready ## Compare store and bus on the emulators with raw calls of Google's clients
	@$(EMULATORS) where > /dev/null
	$(RUN)/python -m tests.benchmarks.firestore
	$(RUN)/python -m tests.benchmarks.pubsub

bench-ledger: .venv/.ready ## Compare reads of SETTLEMENTS=1000000 with those of 10,000, check them and export all (KEEP=DIR to reuse)
	$(RUN)/python -m tests.benchmarks.ledger --settlements $(SETTLEMENTS) $(if $(KEEP),--keep '$(KEEP)')

bench-governance: .venv/.ready ## Compare validations after VALIDATIONS=1000000 with those after 1,000, and check a rebuild (KEEP=DIR to reuse)
	$(RUN)/python -m tests.benchmarks.governance --validations $(VALIDATIONS) $(if $(KEEP),--keep '$(KEEP)')

load: REPLICAS := 1,2,3
load: .venv/.ready ## Run the main job under load with REPLICAS=1,2,3 of each service (BACKEND=embedded,emulators CONTRACTS=600 PAIRS=24 ROUNDS=1)
	@$(RUN)/python -m tests.benchmarks.load --backends '$(BACKEND)' --replicas '$(REPLICAS)' $(if $(CONTRACTS),--contracts '$(CONTRACTS)') $(if $(PAIRS),--pairs '$(PAIRS)') $(if $(ROUNDS),--rounds '$(ROUNDS)')

governance-report: .venv/.ready ## Report detected fraud and false alarms per rule (SEEDS=101,102)
	@$(RUN)/python -m tests.benchmarks.fraud --seeds '$(SEEDS)'

simulate: SEEDS := 200
simulate: .venv/.ready ## Simulate the four services under faults with SEEDS=200 seeds (FIRST, STEPS, JOBS; PLANT=list: planted bugs; PLAN=FILE: one run)
	@$(RUN)/python -m tests.simulation --seeds '$(SEEDS)' $(if $(FIRST),--first '$(FIRST)') $(if $(STEPS),--steps '$(STEPS)') $(if $(JOBS),--jobs '$(JOBS)') $(if $(PLANT),--plant '$(PLANT)') $(if $(PLAN),--plan '$(PLAN)')

hostile: .venv/.ready ## Send generated requests by the OpenAPI documents to all four services (REQUESTS=5000)
	@$(RUN)/python -m tests.openapi --requests '$(REQUESTS)'

nightly: .venv/.ready ## Run the bars that take above a minute, once per issue; quote the output in the note
	@failed=; for run in fidelity bench bench-clients 'load BACKEND=embedded,emulators' hostile coverage governance-report \
		'fuzz EXAMPLES=20000' 'simulate SEEDS=5000' bench-governance bench-ledger; do \
		echo "== make $$run"; $(MAKE) --no-print-directory $$run || failed="$$failed, $$run"; \
	done; if [ -n "$$failed" ]; then echo "failed: $${failed#, }" >&2; exit 1; fi

clean: ## Remove all generated files
	rm -rf .venv .tools .aex .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis .import_linter_cache

.tools/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.ready: $(UV) pyproject.toml uv.lock $(PACKAGES)
	$(UV) sync --quiet --locked --all-packages --all-extras --python $(PYTHON)
	@touch $@
