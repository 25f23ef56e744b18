# kraftwire: `make demo` shows what it does, `make test` checks it; `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
KRAFTWIRE := $(BIN)/kraftwire
# -n: one worker per core; the two cores of a small machine halve the time.
PYTEST := $(BIN)/python -m pytest -q
NATIVE := $(wildcard runtime/*/*.pyx runtime/*/*.pxi runtime/*/*/*.pyx runtime/*/*/*.pxi)
CAPTURE := codec_tests/captures/kafka.jsonl
STORED := codec_tests/stored
# Before commands that run Spark: its Java, where setup had to bring one.
WITH_JAVA = $(shell [ -e $(VENV)/java ] && echo env JAVA_HOME=$(CURDIR)/$(VENV)/java)

.DEFAULT_GOAL := help
.PHONY: help setup demo quick test test-engines lint types check format generate interop parts installs shipping fuzz fuzz-native mutants compiled soak bench bench-quorum update-kafka clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

setup: $(VENV)/.ready ## Make .venv with everything the project needs

$(VENV)/.ready: pyproject.toml $(NATIVE) spark_jobs/java_home.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "kraftwire needs Python 3.11 or newer; name one: make PYTHON=python3.12 setup"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	# Spark finds its data sources along sys.path, which an editable install does not extend.
	@echo '$(CURDIR)/spark_jobs' > $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/kraftwire_spark_jobs.pth
	@$(BIN)/python spark_jobs/java_home.py || echo "all but Spark works without one"
	@touch $@

demo: setup ## Regenerate the codecs, decode captured traffic, read what Kafka stored
	@echo "== kraftwire generate: the codecs are what the specs say"
	@$(KRAFTWIRE) generate 2>/dev/null
	@echo
	@echo "== kraftwire capture decode: frames of a real Kafka, its controllers included"
	@$(KRAFTWIRE) capture decode $(CAPTURE) -o table
	@echo
	@echo "== one of them in full"
	@$(KRAFTWIRE) capture decode $(CAPTURE) --frame 1 -o table
	@echo
	@echo "== kraftwire explain: what each byte of a stored batch is"
	@$(KRAFTWIRE) explain $(STORED)/broker/orders-0/00000000000000000000.log --offset 0 -o text --most 20
	@echo
	@echo "== a draft: VoteRequest as KIP-856 has it"
	@$(KRAFTWIRE) fields VoteRequest --messages kraftwire_messages.kip_856 -o table
	@echo
	@echo "== kraftwire log: what a real broker left on its disk, without a broker"
	@$(KRAFTWIRE) log scan $(STORED)/broker -o table
	@$(KRAFTWIRE) log fsck $(STORED)/broker $(STORED)/controller -o table
	@$(KRAFTWIRE) log dump $(STORED)/broker/orders-0 --isolation read_committed --to-offset 10 -o table
	@echo
	@echo "== kraftwire metadata, groups: the cluster and its consumers, out of raw records"
	@$(KRAFTWIRE) metadata show $(STORED)/controller --only topics -o table
	@$(KRAFTWIRE) groups show $(STORED)/broker -o table
	@echo
	@echo "== Spark: committed offsets out of raw segments, as DataFrames"
	@$(WITH_JAVA) $(BIN)/python spark_jobs/group_offsets.py $(STORED)/broker --latest -o table

# Tests start many processes: they share the compiled modules, whatever the environment says.
quick test: export PYTHONDONTWRITEBYTECODE =

quick: setup ## While writing: one case of each fast test (under a minute on two cores)
	$(PYTEST) -n auto --dist loadgroup --quick codec_tests

test: setup ## Run every test that needs no Kafka (about ten minutes on two cores)
	$(PYTEST) -n auto --dist loadgroup codec_tests
	@echo "Left out: tests against Kafka itself (make interop), the nightly mutation runs (make fuzz)"
	@echo "and the benchmarks (make bench)."

test-engines: setup ## The tests of codecs, columns and stored data, for KRAFTWIRE_ENGINE=python
	$(PYTEST) -n auto --dist loadgroup $(addprefix codec_tests/,wire messages columns log metadata groups capture fuzz)

lint: setup ## Check style, imports, layers and dead code
	$(BIN)/ruff check .
	$(BIN)/black --check --quiet . || { echo "format with: make format"; exit 1; }
	$(BIN)/lint-imports
	$(BIN)/vulture

types: setup ## Check type hints
	$(BIN)/mypy

check: setup ## Show drift between the specs and what is generated from them
	$(KRAFTWIRE) check
	$(KRAFTWIRE) specs table message_specs --check

format: setup ## Format the code we write by hand
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/black --quiet .

generate: setup ## Write the codecs of all spec sets, and message_specs/README.md
	$(KRAFTWIRE) generate
	$(KRAFTWIRE) specs table message_specs

# A program that interop runs, and the package of Debian that brings it.
PARTS := javac:openjdk-17-jdk-headless mvn:maven tcpdump:tcpdump tshark:tshark chromium:chromium chromedriver:chromium-driver

parts: ## Install what interop needs beside Python, where it is missing (Debian, as root)
	@for part in $(PARTS); do command -v $${part%%:*} >/dev/null || packages="$$packages $${part#*:}"; done; \
	install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$packages; }; \
	[ -z "$$packages" ] || install || { apt-get update -qq && install; }

interop: setup ## Test against Kafka itself (what it needs, `make parts` installs)
	$(PYTEST) -n auto --dist loadgroup -m interop codec_tests/interop codec_tests/guide

installs: setup ## Install in clean environments, with a compiler and without (NEWEST=--newest, as root)
	$(BIN)/python -m codec_tests.installs.clean_installs $(NEWEST)

shipping: setup ## Read with Spark in every way the README ships to a cluster (up to half an hour)
	$(WITH_JAVA) $(BIN)/python -m codec_tests.installs.shipping

fuzz: setup ## The long mutation runs, and properties on examples drawn anew (about six minutes)
	$(PYTEST) -n auto -m "(nightly or hypothesis) and not interop" --hypothesis-profile fuzz --timeout 7200 codec_tests

fuzz-native: setup ## Fuzz the native engines under sanitizers: make fuzz-native SECONDS=600
	$(BIN)/python -m codec_tests.fuzz.sanitized --seconds $(or $(SECONDS),600)

mutants: setup ## Give replicas a bug each, and see which seed of the simulator finds it
	$(BIN)/python -m codec_tests.simulation.mutants

# For long runs: the replica and the simulator, compiled.
COMPILED := build/compiled
$(COMPILED)/.ready: $(VENV)/.ready $(shell find runtime generated/kraftwire_messages -name '*.py')
	$(BIN)/python -m codec_tests.simulation.compiled $(COMPILED)
	touch $@

compiled: $(COMPILED)/.ready ## Compile replica and simulator, and compare the runs: twice as fast

soak: compiled ## Run the simulator on new seeds: make soak HOURS=2 START=1000000
	PYTHONPATH=$(COMPILED) $(KRAFTWIRE) simulate --hours $(or $(HOURS),1) --start $(or $(START),1000) --transcripts broken

bench: compiled ## Time decoding and encoding beside other libraries; show that both are linear
	$(BIN)/python -m codec_tests.bench.speed
	$(BIN)/python -m codec_tests.bench.footprint
	$(BIN)/python -m codec_tests.bench.linear
	$(BIN)/python -m codec_tests.bench.simulation $(COMPILED)
	$(BIN)/python -m codec_tests.bench.columns
	$(WITH_JAVA) $(BIN)/python -m codec_tests.bench.spark
	$(BIN)/python -m codec_tests.bench.logs $(if $(shell command -v java),--java)

bench-quorum: setup ## Commits and fail-overs beside Kafka's raft (JDK, Maven; ten minutes)
	$(BIN)/python -m codec_tests.bench.quorum

update-kafka: setup ## Adopt a release: make update-kafka VERSION=4.4.0 (needs Maven)
	@test -n "$(VERSION)" || { echo "say which release: make update-kafka VERSION=4.4.0"; exit 2; }
	PYTHON=$(BIN)/python message_specs/update_kafka.sh $(VERSION)
	$(KRAFTWIRE) generate
	$(KRAFTWIRE) specs table message_specs

clean: ## Remove what the other targets made
	rm -rf $(VENV) runtime/*/_*.c runtime/*/*/_*.c runtime/*/*.so runtime/*/*/*.so codec_tests/interop/java/target .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
