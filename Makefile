# `make help` lists the targets. Each does whatever set-up is missing.
SHELL := /bin/bash
VENV := .venv
STAMP := build/.setup
SOURCES := $(shell find src cmake tests/cpp bench -type f -not -name '*.pyc' 2>/dev/null) \
  CMakeLists.txt pyproject.toml tools/setup.sh tools/debian-packages.txt
# The seed of the sample of long tests that `make test` runs.
SEED ?= 1
# How many entries `make coverage` measures at once.
JOBS ?= 1

.PHONY: help setup demo test test-long test-sanitized bench coverage lint format clean

help:
	@echo 'make setup           packages, virtual environment, build: .venv/bin/fuseproof'
	@echo 'make demo            capture and check two models, then the same with a planted fault'
	@echo 'make test            all tests but the long ones (a seeded sample of those; SEED=1)'
	@echo 'make test-long       every test, the sanitizer builds, clang-tidy on the torch sources'
	@echo 'make test-sanitized  C++ tests of the torch-free rooms under ASan and UBSan, and under TSan'
	@echo 'make bench           the figures of the README, as ratios against their peers'
	@echo 'make coverage        docs/coverage.md: how much of real models is checked (long; JOBS=1)'
	@echo 'make lint            clang-format, clang-tidy, ruff, mypy'
	@echo 'make format          rewrite the sources in the house style'

setup: $(STAMP)

# The stamp has the time at which the build began, so that an edit during it is not missed.
$(STAMP): $(SOURCES)
	@mkdir -p build && touch $(STAMP).begun
	@tools/setup.sh
	@mv $(STAMP).begun $(STAMP)

demo: setup
	@$(VENV)/bin/python examples/demo.py

test: setup
	ctest --test-dir build/wheel --output-on-failure -j2
	$(VENV)/bin/python -m pytest -q -m 'not long' --seed $(SEED)

test-long: setup test-sanitized
	ctest --test-dir build/wheel --output-on-failure -j2
	$(VENV)/bin/python -m pytest -q --seed $(SEED)
	tools/lint.sh tidy-torch

test-sanitized: setup
	@for preset in asan tsan; do \
	  cmake --preset $$preset >/dev/null && cmake --build --preset $$preset && \
	  ctest --test-dir build/$$preset --output-on-failure -j2 || exit 1; \
	done

bench: setup
	@$(VENV)/bin/python bench/run.py

# Goes on where an interrupted one ended.
coverage: setup
	@$(VENV)/bin/pip install -q --disable-pip-version-check $(PIP_INSTALL_FLAGS) \
	  "$$(sed -n 's/^coverage = \["\(.*\)"\]$$/\1/p' pyproject.toml)"
	@$(VENV)/bin/python tests/coverage/run.py --jobs $(JOBS) --output docs/coverage.md

lint: setup
	tools/lint.sh

format:
	clang-format -i $$(git ls-files 'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' 'bench/*.h' 'bench/*.cpp')
	$(VENV)/bin/ruff format python tests bench examples
	$(VENV)/bin/ruff check --fix python tests bench examples

clean:
	rm -rf build
