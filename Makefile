SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-print-directory
PYTHON ?= python3
BIN := .venv/bin
PROTOS := $(shell find proto -name '*.proto' | sort)

help: ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.venv/run.stamp: locks/run.txt
	@echo "setting up .venv (about half a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit("Waypost needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r locks/run.txt
	@echo 'import sys; sys.path[:0] = ["$(CURDIR)", "$(CURDIR)/generated"]' > $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/waypost-tree.pth
	@touch $@

.venv/dev.stamp: locks/dev.txt .venv/run.stamp
	@echo "adding the development tools ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r locks/dev.txt
	@touch $@

setup: .venv/run.stamp ## set up what serving needs
setup-dev: .venv/dev.stamp ## set up what developing needs

generate: .venv/dev.stamp ## regenerate the committed stubs from proto/
	@rm -rf generated/waypost generated/descriptors.binpb
	@$(BIN)/python -m grpc_tools.protoc -I proto --python_out=generated --pyi_out=generated --grpc_python_out=generated $(PROTOS)
	@$(BIN)/buf build --as-file-descriptor-set -o generated/descriptors.binpb
	@find generated/waypost -type d -exec touch {}/__init__.py \;
	@touch generated/waypost/py.typed

.PHONY: help setup setup-dev generate
