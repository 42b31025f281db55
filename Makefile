# The commands of the project. `make` prints them. `make serve` and `make test` need only Python 3.11 or newer.

SHELL := /bin/sh
BIN := .venv/bin
READY := .venv/.ready
CLAUDE_VERSION := 2.1.325
CLAUDE := .interop/node_modules/.bin/claude
CLAUDE_READY := .interop/.claude-$(CLAUDE_VERSION)
PEER := claude-agent-sdk==0.2.182
ACP_PYTHON := agent-client-protocol==0.12.1
PEER_READY := .bench/.$(PEER)-$(ACP_PYTHON)-trio
ACP_VERSION := 2.4.0
ACP := .interop/acp/node_modules/@agentclientprotocol/sdk
CLAUDE_ACP_VERSION := 0.49.0
CLAUDE_ACP := .interop/acp/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js
ACP_READY := .interop/.acp-$(ACP_VERSION)-$(CLAUDE_ACP_VERSION)
OPENCODE_VERSION := 1.18.33
OPENCODE := .interop/opencode/node_modules/.bin/opencode
OPENCODE_READY := .interop/.opencode-$(OPENCODE_VERSION)
TYPESCRIPT_VERSION := 0.3.325
TYPESCRIPT := .interop/typescript/node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs
TYPESCRIPT_READY := .interop/.typescript-$(TYPESCRIPT_VERSION)
TWINE := twine==7.0.0
CHECK_WHEEL := check-wheel-contents==0.6.3
DOCS_TOOLS := mkdocs==1.6.1 mkdocs-material==9.8.1 mkdocstrings==1.0.8 mkdocstrings-python==2.0.11
DOCS_READY := .docs/.ready-mkdocs-1.6.1-material-9.8.1
PYTHONS ?= $(wildcard $(addprefix /usr/bin/python3.,11 12 13 14) $(addprefix /usr/local/bin/python3.,11 12 13 14) $(HOME)/.pyenv/versions/3.1[1-4].*/bin/python3)
# Other systems lack some names of these modules. A file without them is checked once, for Linux.
SYSTEM_CALLS := '\b(ctypes|fcntl|pwd|resource|select|signal|termios)\.|\bos\.(O_[A-Z]|f?ch|[a-z]*fd|get[a-z]*id|kill|p(osix|read|write)|sched|set|uname|wait)|\bsys\.platform|CLOCK_'
SDK := $(addprefix src/handrail/,__init__.py blocking.py platform.py client claude_agent_sdk connection session_store settings transcripts transport)
# Parts of the agent, in folders of the SDK.
NOT_ON_WINDOWS := $(addprefix src/handrail/,settings/git_branch.py settings/write.py transport/stdio.py)
RECORDINGS ?= ../shared/protocol/wirelab/golden
WIRELAB ?= ../shared/protocol/wirelab
TIERS ?= 1 2
SETS ?= 1 2
# Many tests wait for processes: more of them at once than there are cores.
WORKERS ?= $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 2))))
PYTEST_ARGS ?=
PAGE := src/handrail/bridge/page/index.html
PAGE_SOURCES := $(shell find web/src web/public -type f) web/index.html web/vite.config.ts web/package-lock.json
NPM_READY := web/node_modules/.ready
# The machine's npm where there is one, else the one that the nodejs wheel put into .venv.
NPM := PATH="$$PATH:$(CURDIR)/$(BIN)" npm --prefix web
COVERED := tests/protocol tests/schema tests/permissions tests/files tests/settings
BENCH_ARGS ?=
BROWSER_ARGS ?=
SERVE_ARGS ?=
CLUSTER_ARGS ?=
FAULTS_ARGS ?=
FUZZ_LINES ?= 1000000
MINUTES ?= 20
# Tests start hundreds of processes: compiled once, whatever the shell prefers for itself.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help serve cluster test tests lint types types-ts acp-types agent-reference requests-page page page-check browser screenshots docs-pictures coverage format interop campaigns sdk-examples wirelab recordings bench growth fuzz-wire fuzz-permissions mutation races faults faults-cluster soak dist install-test docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: $(READY) $(PAGE) ## start the server and print a link; no account needed (SERVE_ARGS="--qr")
	@$(BIN)/handrail serve $(SERVE_ARGS)

cluster: $(READY) $(PAGE) ## start a cluster on this machine: 3 NATS servers, 2 gateways, 3 runners (CLUSTER_ARGS="--folder DIR")
	@$(BIN)/python tools/cluster.py $(CLUSTER_ARGS)

test: lint types page-check tests coverage ## lint, types, all tests and coverage

tests: $(READY) $(PAGE) ## the tests alone, without those of make coverage (PYTEST_ARGS="-x -n 1")
	$(BIN)/pytest -n $(WORKERS) $(addprefix --ignore=,$(COVERED)) $(PYTEST_ARGS)

lint: $(READY) ## ruff (rules and format) and the import contracts between layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(READY) ## pyright in strict mode: src for Linux, the files that use the system for macOS, those of the SDK for Windows
	$(BIN)/pyright
	$(BIN)/pyright --pythonplatform Darwin $$(grep -rlE $(SYSTEM_CALLS) src/handrail --include='*.py')
	$(BIN)/pyright --pythonplatform Windows $(filter-out $(NOT_ON_WINDOWS),$(shell grep -rlE $(SYSTEM_CALLS) $(SDK) --include='*.py'))

types-ts: $(READY) ## generate the JSON Schema and TypeScript of the native protocol
	$(BIN)/python -m handrail.bridge.web.http.api_documents docs/native-protocol.schema.json web/src/protocol/messages.ts

acp-types: $(READY) $(ACP_READY) ## generate the messages in schema/acp from the JSON Schema of the Agent Client Protocol
	$(BIN)/python -m tools.acp_types $(ACP)/schema/v1/schema.unstable.json

agent-reference: $(READY) ## generate the tables in docs/guides/agent.md
	$(BIN)/python -m tools.agent_reference

requests-page: $(READY) $(CLAUDE_READY) ## generate docs/requests.md: sizes of requests to the model, ours and the CLI's
	$(BIN)/python -m tools.compare_requests --cli $(CLAUDE)

page: $(PAGE) ## build the page if it is missing or older than its sources

page-check: $(PAGE) $(NPM_READY) ## types, lint and unit tests of the page
	$(NPM) run --silent types
	$(NPM) run --silent lint
	$(NPM) run --silent test

browser: $(PAGE) $(NPM_READY) ## tests of the page in Chromium with a real server (BROWSER_ARGS=browser/keys.test.ts)
	$(NPM) run --silent browser -- $(BROWSER_ARGS)

screenshots: $(PAGE) $(NPM_READY) ## write pictures of the page (light, dark, phone) into screenshots/
	SCREENSHOTS=$(CURDIR)/screenshots $(NPM) run --silent screenshots

docs-pictures: ## renew docs/pictures/ from new screenshots
	LOOK=light,phone $(MAKE) --no-print-directory screenshots
	$(BIN)/python -m tools.docs_pictures screenshots

coverage: $(READY) ## check that tests cover every line and branch of protocol, schema, permissions, files, settings
	@$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n auto $(COVERED)
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

format: $(READY) ## format the sources and apply safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

interop: $(READY) $(PAGE) $(NPM_READY) $(CLAUDE_READY) $(PEER_READY) $(TYPESCRIPT_READY) $(ACP_READY) $(OPENCODE_READY) ## test the SDK with the real CLI, the official SDKs with our agent, and other agents; needs PostgreSQL
	HANDRAIL_REAL_CLI=$(CURDIR)/$(CLAUDE) HANDRAIL_PYTHON_SDK=$(CURDIR)/.bench/bin/python \
	  HANDRAIL_TYPESCRIPT_SDK=$(CURDIR)/$(TYPESCRIPT) HANDRAIL_ACP_SDK=$(CURDIR)/$(ACP)/dist/v1/unstable/acp.js \
	  HANDRAIL_CLAUDE_ACP=$(CURDIR)/$(CLAUDE_ACP) HANDRAIL_OPENCODE=$(CURDIR)/$(OPENCODE) \
	  $(BIN)/pytest -m "(interop or postgres) and not campaign" -n 2 --dist loadgroup $(PYTEST_ARGS)

campaigns: $(READY) $(CLAUDE_READY) $(OPENCODE_READY) ## run every attack in the sandbox with the permission engine off, and conform with OpenCode (minutes)
	HANDRAIL_REAL_CLI=$(CURDIR)/$(CLAUDE) HANDRAIL_OPENCODE=$(CURDIR)/$(OPENCODE) $(BIN)/pytest -m campaign -n 2 $(PYTEST_ARGS)

sdk-examples: $(READY) $(CLAUDE_READY) $(PEER_READY) ## run the examples of the official Python SDK with it and with handrail.claude_agent_sdk
	$(BIN)/python tests/interop/sdk_examples.py --python .bench/bin/python --claude $(CLAUDE)

wirelab: $(READY) ## compare the agent with recordings of the real CLI (WIRELAB=DIR SETS="1 2" TIERS="1 2")
	@test -d $(WIRELAB) || { echo "wirelab: there is no folder $(WIRELAB); say where it is: make wirelab WIRELAB=DIR" >&2; exit 2; }
	$(if $(wildcard $(CLAUDE)),WIRELAB_PEER=$(CURDIR)/$(CLAUDE)) $(BIN)/python tools/wirelab.py --lab $(WIRELAB) --cli $(BIN)/handrail-agent $(addprefix --set ,$(SETS)) $(addprefix --tier ,$(TIERS))

recordings: $(READY) ## check a folder of recordings (RECORDINGS=DIR)
	$(BIN)/python tests/recordings/check.py $(RECORDINGS)

bench: $(READY) $(PAGE) $(NPM_READY) $(PEER_READY) $(CLAUDE_READY) ## measure what the docs promise, and compare with the official SDK and the real CLI
	HANDRAIL_REAL_CLI=$(CURDIR)/$(CLAUDE) $(BIN)/python -m benchmarks $(BENCH_ARGS)

growth: $(READY) ## append 3 million events to a store and search it (EVENTS=1000000)
	$(BIN)/python -m benchmarks.bridge_growth $(if $(EVENTS),--events $(EVENTS))

fuzz-wire: $(READY) ## send hostile bytes to the protocol code
	$(BIN)/python tests/fuzz/wire.py

fuzz-permissions: $(READY) ## decide random commands, and run the allowed ones in a sandbox
	$(BIN)/python tests/fuzz/permissions.py --count 1000000 --seed 1
	$(BIN)/python tests/fuzz/options.py --count $(FUZZ_LINES) --seed 1 --cage-every 5

mutation: $(READY) ## insert faults into the permission engine and check that its tests notice
	$(BIN)/python tests/mutation/run.py --count 400 --seed 1

races: $(READY) ## open files while another process swaps folders and links
	$(BIN)/python tests/files/race.py --opens 100000
	$(BIN)/python -m tests.files.tool_race --calls 10000

faults: $(READY) ## kill the server 200 times, cut 2,000 connections, run the slow fault tests
	$(BIN)/pytest -q tests/faults -m "campaign or not campaign" --ignore-glob="*/test_cluster*" $(PYTEST_ARGS)
	$(BIN)/python -m tests.faults $(FAULTS_ARGS)

faults-cluster: $(READY) ## kill, pause and cut off NATS servers and runners of a cluster (FAULTS_ARGS="--rounds 1")
	$(BIN)/pytest -q -m campaign tests/faults/test_cluster_ports.py tests/faults/test_shared_ownership.py tests/bridge/cluster tests/testing $(PYTEST_ARGS)
	$(BIN)/python -m tests.faults.cluster $(FAULTS_ARGS)

soak: $(READY) ## run the server under normal load and check that nothing grows (MINUTES=20)
	$(BIN)/python -m tests.faults.soak --minutes $(MINUTES)

dist: $(READY) $(PAGE) ## build and check the wheel and the source distribution in dist/
	rm -rf dist
	$(BIN)/uv build --quiet
	$(BIN)/uv tool run --quiet $(TWINE) check --strict dist/*
	$(BIN)/uv tool run --quiet $(CHECK_WHEEL) dist/*.whl
	$(BIN)/pytest -q -rP -m wheel tests/packaging $(PYTEST_ARGS)

install-test: dist ## try the wheel with every Python from 3.11 to 3.14 that is found (PYTHONS="/path/to/python3.12 …")
	HANDRAIL_PYTHONS="$(PYTHONS)" $(BIN)/pytest -q -rP -m wheel tests/packaging -k plain_wheel $(PYTEST_ARGS)

docs: $(READY) $(DOCS_READY) ## build the documentation site in site/; a dead link fails
	$(BIN)/python -m tools.reference_pages .docs/reference
	NO_MKDOCS_2_WARNING=1 .docs/bin/mkdocs build --strict

lock: $(READY) ## generate constraints.txt from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-annotate --no-header --quiet --output-file constraints.txt >/dev/null

clean: ## remove everything that was built or cached, including .venv
	rm -rf web/node_modules src/handrail/bridge/page .venv .bench .bootstrap .docs site .interop .coverage .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): pyproject.toml constraints.txt tools/bootstrap.sh
	@tools/bootstrap.sh
	@touch $@

$(NPM_READY): web/package-lock.json | $(READY)
	@echo "page: installing what it is built with into web/node_modules"
	$(NPM) ci --silent --no-audit --no-fund
	@touch $@

$(PAGE): $(PAGE_SOURCES) | $(READY)
	@$(MAKE) --no-print-directory $(NPM_READY)
	@echo "page: building"
	$(NPM) run --silent build -- --logLevel warn
	@touch $@

$(CLAUDE_READY): | $(READY)
	@echo "interop: installing the CLI $(CLAUDE_VERSION) into .interop"
	PATH="$$PATH:$(CURDIR)/$(BIN)" npm install --silent --no-audit --no-fund --prefix .interop @anthropic-ai/claude-code@$(CLAUDE_VERSION)
	@touch $@

# Without the CLI that comes with it: what it drives is ours.
$(TYPESCRIPT_READY): | $(READY)
	@echo "interop: installing the TypeScript SDK $(TYPESCRIPT_VERSION) into .interop/typescript"
	@mkdir -p .interop/typescript
	PATH="$$PATH:$(CURDIR)/$(BIN)" npm install --silent --no-audit --no-fund --omit=optional --prefix .interop/typescript \
	  @anthropic-ai/claude-agent-sdk@$(TYPESCRIPT_VERSION)
	@touch $@

# The official SDK, in an environment of its own: nothing else of the project ever sees it.
$(ACP_READY): | $(READY)
	@echo "interop: installing the SDK of the Agent Client Protocol $(ACP_VERSION) into .interop/acp"
	@mkdir -p .interop/acp
	PATH="$$PATH:$(CURDIR)/$(BIN)" npm install --silent --no-audit --no-fund --omit=optional --prefix .interop/acp \
	  @agentclientprotocol/sdk@$(ACP_VERSION) @agentclientprotocol/claude-agent-acp@$(CLAUDE_ACP_VERSION)
	@touch $@

$(OPENCODE_READY): | $(READY)
	@echo "interop: installing OpenCode $(OPENCODE_VERSION) into .interop/opencode"
	@mkdir -p .interop/opencode
	PATH="$$PATH:$(CURDIR)/$(BIN)" npm install --silent --no-audit --no-fund --prefix .interop/opencode opencode-ai@$(OPENCODE_VERSION)
	@touch $@

$(DOCS_READY): | $(READY)
	@echo "docs: installing MkDocs into .docs"
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .docs
	$(BIN)/uv pip install --quiet --python .docs/bin/python $(DOCS_TOOLS)
	@touch $@

$(PEER_READY): | $(READY)
	@echo "bench: installing $(PEER) into .bench"
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .bench
	$(BIN)/uv pip install --quiet --python .bench/bin/python $(PEER) $(ACP_PYTHON) trio
	@touch $@
