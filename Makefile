# The chores of penstock. `make` alone lists them; each sets up what it needs, once.
#
# The environment is .venv: locked packages with hashes, then torch (by version only, see requirements/torch.txt) and
# what goes without its dependencies (requirements/alone.txt), then penstock itself, editable. Stamps inside .venv say
# what is done, so removing .venv starts anew.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
UV := 0.13.8

NATIVE := CMakeLists.txt $(wildcard native/*)
SANITIZE := build/sanitize
FUZZ_SECONDS ?= 30
# Most tests wait, for servers, children and deadlines: three processes on two cores. A file's tests stay together.
PYTEST ?= -n 3 --dist loadfile

.PHONY: help setup test check check-native bench reproduce demo wheel lock clean

help:  ## list the chores
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' $(MAKEFILE_LIST) | while IFS=: read -r name text; do printf '  make %-13s%s\n' "$$name" "$$text"; done

setup: $(VENV)/built  ## make or refresh the environment and build the native core

test: $(VENV)/built  ## run the test-suite
	@.ci/system-packages $(BIN)/python tests
	$(BIN)/python -m pytest $(PYTEST)

check: $(VENV)/built  ## lint, types, layers, tests: to be green before a change is done
	@.ci/system-packages $(BIN)/python tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest $(PYTEST)

check-native: $(SANITIZE)/built  ## native tests under the address and undefined-behaviour sanitizers, then a short fuzzing run
	tests/native/sanitized $(SANITIZE) -m pytest tests/native
	tests/native/sanitized $(SANITIZE) -m tests.native.fuzz.mutate --seconds $(FUZZ_SECONDS)

demo: $(VENV)/built  ## draw 1,500 photo-like images, pack them, race plain PyTorch against penstock, write a page with plots
	rm -rf demo
	$(BIN)/penstock sample demo/photos --count 1500
	$(BIN)/penstock pack demo/photos demo/photos.pen
	$(BIN)/penstock race demo/photos --out demo/race.json --html demo/race.html
	@echo "The same with plots: demo/race.html"

bench:  ## reproduce every published row: the other loaders (7 GB, in .peers), photographs, races; 35 minutes, as root an hour
	benchmarks/make_peers.sh
	.peers/bin/python benchmarks/rows.py .peers/data

reproduce: $(VENV)/built  ## measure the tables of five published studies at this machine's scale, theirs beside ours; as root, hours
	$(BIN)/penstock race --setup torchvision dali lmdb lmdb-sequential gulpio2 concurrent
	for suite in gulpio dl2 efficient sequential storage; do \
	  $(BIN)/penstock bench suite benchmarks/suites/$$suite.toml --out build/reproduced/$$suite || exit 1; done

wheel: $(VENV)/built  ## a wheel of this machine's kind, in dist/
	$(PIP) wheel --no-deps --wheel-dir dist .

lock: $(VENV)/locked  ## resolve the pinned packages anew
	$(PIP) install --quiet uv==$(UV)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --extra dev --no-header --no-annotate \
	  --no-emit-index-url --no-emit-find-links --no-emit-package torch pyproject.toml $${PIP_FIND_LINKS:+--find-links $$PIP_FIND_LINKS} \
	  > $(VENV)/compiled.txt
	{ echo "# Every package of the environment, pinned with hashes for Python 3.10 and newer. Written by 'make lock'."; \
	  $(BIN)/python requirements/without_torch_builds.py < $(VENV)/compiled.txt; } > requirements/lock.new
	mv requirements/lock.new requirements/lock.txt

clean:  ## remove what was built, made by the demo, or cached; the environment stays
	rm -rf build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f $(VENV)/built

$(VENV)/python:
	@.ci/system-packages $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/locked: requirements/lock.txt $(VENV)/python
	$(PIP) install --quiet --require-hashes -r requirements/lock.txt
	@touch $@

$(VENV)/torch: requirements/torch.txt $(VENV)/locked
	$(PIP) install --quiet -r requirements/torch.txt
	@touch $@

$(VENV)/alone: requirements/alone.txt $(VENV)/locked
	$(PIP) install --quiet --no-build-isolation --no-deps --require-hashes -r requirements/alone.txt
	@touch $@

$(VENV)/built: $(NATIVE) pyproject.toml $(VENV)/torch $(VENV)/alone
	@.ci/system-packages $(BIN)/python
	$(PIP) install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

$(SANITIZE)/built: $(NATIVE) tests/native/sanitized $(VENV)/built
	$(BIN)/cmake -S . -B $(SANITIZE) -G Ninja -DPENSTOCK_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python \
	  -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) > $(VENV)/sanitize.log || { cat $(VENV)/sanitize.log; exit 1; }
	$(BIN)/cmake --build $(SANITIZE)
	@touch $@
