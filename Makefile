SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-print-directory
PYTHON ?= python3
NETWORK ?= devnet
FULL ?=
MINUTES ?= 10
BEFORE ?=
ONLY ?=
COMPLETE ?=
PACKAGES := runtime server transcoder cli devnet bench scripts waypost_gateway clients/python/waypost examples
BIN := .venv/bin
PROTOS := $(shell find proto proto_internal -name '*.proto' | sort)
CLIENT := clients/python/waypost

help: ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.venv/run.stamp: locks/devnet.txt
	@echo "setting up .venv (about half a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit("Waypost needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r locks/devnet.txt
	@echo 'import sys; sys.path[:0] = ["$(CURDIR)", "$(CURDIR)/clients/python", "$(CURDIR)/generated"]' > $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/waypost-tree.pth
	@touch $@

.venv/dev.stamp: locks/dev.txt .venv/run.stamp
	@echo "adding the development tools ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r locks/dev.txt
	@touch $@

setup: .venv/run.stamp ## set up what serving needs, with the local chains
setup-dev: .venv/dev.stamp ## set up what developing needs

# Written beside and swapped in at the end: what runs meanwhile finds its stubs. The public ones belong to the Python
# client; what the gateway's own processes ask of each other, and the descriptors, to the gateway alone.
generate: .venv/dev.stamp ## regenerate the committed stubs from proto/
	@rm -rf .generated && mkdir .generated
	@$(BIN)/python -m grpc_tools.protoc -I proto -I proto_internal -I third_party/googleapis --python_out=.generated --pyi_out=.generated --grpc_python_out=.generated $(PROTOS)
	@$(BIN)/buf build --as-file-descriptor-set -o .generated/descriptors.binpb
	@find .generated -mindepth 1 -type d -not -path .generated/waypost -exec touch {}/__init__.py \;
	@for part in v1 options; do rm -rf $(CLIENT)/$$part && mv .generated/waypost/$$part $(CLIENT)/$$part; done; rmdir .generated/waypost
	@rm -rf generated && mv .generated generated
	@$(BIN)/python -m scripts.service_config
	@$(BIN)/python -m scripts.python_client

operations: .venv/dev.stamp ## rewrite docs/operations.md and the README's list of groups, and the reference of docs/cli.md
	@$(BIN)/python -m scripts.operations_table
	@$(BIN)/python -m scripts.command_reference

run: .venv/run.stamp ## serve on local chains (NETWORK=mainnet: on public endpoints; FULL=1: with Starknet)
	@exec ./waypost serve --network $(NETWORK) $(if $(FULL),--full)

lint: .venv/dev.stamp ## style, types, protobuf rules
	@echo "ruff, mypy, buf ..."
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy $(PACKAGES)
	@$(BIN)/buf lint
	@$(BIN)/buf format --diff --exit-code

# First what cannot stand beside others (each says why); then everything else, a file in one process.
# Beside it run lint and the set-up of what Starknet's tests need. All three parts always run; what fails is said at the
# end. All processes hash alike: they must name the same tests in the same order. Bytecode is kept, or each of the
# hundreds of processes would compile everything anew. Files that start nodes say so (tests/conftest.py sees to it).
ALONE = $$(grep -rl --include='test_*.py' 'mark[.]alone(' tests)
NODELESS = $$(grep -rL --include='test_*.py' --exclude-dir=e2e --exclude-dir=faults -e 'mark[.]devnet' -e '^pytestmark = .*mark[.]slow' tests)
# A run that hangs is interrupted and says what it was at.
BOUND := $(if $(shell command -v timeout),timeout --foreground -s INT -k 60 1500)
PYTEST = PYTHONHASHSEED=$$RANDOM PYTHONDONTWRITEBYTECODE= $(BOUND) $(BIN)/python -m pytest -q
GROUPED = --dist loadfile --no-loadscope-reorder

test: .venv/dev.stamp ## run every check
	@alone=passed; others=passed; lint=passed; \
	$(PYTEST) -m alone $(ALONE) || alone=failed; \
	PYTHONDONTWRITEBYTECODE= nice $(BIN)/python -m tests.environments & \
	said=$$(mktemp); nice $(MAKE) lint >$$said 2>&1 & linting=$$!; \
	trap 'kill $$linting 2>/dev/null || true; rm -f $$said' EXIT; \
	$(PYTEST) -m "not alone" -n auto $(GROUPED) || others=failed; \
	wait $$linting || lint=failed; cat $$said; \
	echo "tests by themselves: $$alone; all other tests: $$others; lint: $$lint"; \
	test "$$alone $$others $$lint" = "passed passed passed"

test-fast: .venv/dev.stamp ## the tests that need no nodes, without the slow ones and most examples
	@FAST=1 $(PYTEST) -m "not slow and not alone" -n logical $(GROUPED) $(NODELESS)

coverage: .venv/dev.stamp ## every test, and the lines and branches that none of them runs (.coverage.d/html)
	@failed=; \
	$(PYTEST) -m alone --cov --cov-report= $(ALONE) || failed=1; \
	$(PYTEST) -m "not alone" -n auto $(GROUPED) --cov --cov-append --cov-report=term --cov-report=html || failed=1; \
	test -z "$$failed"

clients: .venv/dev.stamp ## generate, build and try the clients of every language whose toolchain is here (ONLY=go)
	@$(BIN)/python -m scripts.clients $(if $(COMPLETE),--complete) $(ONLY)

faces: .venv/dev.stamp ## drive published clients of chains (viem, ethers, web3.py, ...) against /<key>/rpc/<chain> (ONLY=viem)
	@$(BIN)/python -m scripts.faces $(ONLY)

console: .venv/dev.stamp ## build the page at GET / from console/ into transcoder/console/
	@$(BIN)/python -m scripts.console

console-check: .venv/dev.stamp ## fail where the committed page is not what console/ builds
	@$(BIN)/python -m scripts.console --check

console-test: .venv/dev.stamp ## drive the page in an installed Chromium, on local chains (ONLY=tests/console/board.py)
	@$(BIN)/python -m scripts.console_test $(ONLY)

screenshots: .venv/dev.stamp ## take the pictures of docs/console.md in an installed Chromium, on local chains
	@$(BIN)/python -m scripts.screenshots

bench: .venv/dev.stamp ## what requests cost beside bare echoes and the bare node, and the promised ratios
	@$(BIN)/python -m bench --json .bench/run.json

performance: .venv/dev.stamp ## measure this checkout and write docs/performance.md (BEFORE=: another checkout too)
	@$(if $(BEFORE),$(BIN)/python -m bench --tree $(BEFORE) --json bench/runs/before.json)
	@$(BIN)/python -m bench --only rows --json bench/runs/after.json
	@$(BIN)/python -m bench.performance bench/runs/before.json bench/runs/after.json

walk: .venv/dev.stamp ## what a request passes of our own code: calls, files, coroutines
	@$(BIN)/python -m scripts.walk

structure: .venv/dev.stamp ## how many modules and lines there are, beside an earlier commit
	@$(BIN)/python -m scripts.structure --list

soak: .venv/dev.stamp ## ten minutes of mixed load: do memory and tasks stay flat? (MINUTES=)
	@$(BIN)/python -m bench.soak --minutes $(MINUTES)

chart: .venv/dev.stamp ## render the Helm chart for the tests (needs helm)
	@$(BIN)/python -m scripts.chart

locks: ## rewrite all lock files of Python packages (needs uv)
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --extra otel --extra devnet --extra dev pyproject.toml -o locks/dev.txt
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --extra otel --extra devnet -c locks/dev.txt pyproject.toml -o locks/devnet.txt
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --extra otel -c locks/devnet.txt pyproject.toml -o locks/run.txt
	@for folder in devnet/starknet tests/server/chains/starknet/judge; do \
		uv pip compile -q --python-version 3.11 --generate-hashes --no-header $$folder/requirements.in -o $$folder/requirements.txt; done

clean: ## remove everything that set-up and tests made
	@rm -rf .venv .devnet .bench .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage.d

.PHONY: help setup setup-dev generate operations run lint test test-fast coverage clients faces console console-check console-test screenshots bench performance walk structure soak chart locks clean
