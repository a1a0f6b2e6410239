from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from server.chains.facts import load_facts
from server.marketplace.folders import load_catalogue

if TYPE_CHECKING:
    from server.marketplace.catalogue import Catalogue

APPS = Path(__file__).parents[2] / "apps"


@pytest.fixture(scope="session")
def evm_chains() -> list[str]:
    return [slug for slug, facts in load_facts().items() if facts.family == "evm"]


@pytest.fixture(scope="session")
def catalogue(evm_chains: list[str]) -> Catalogue:
    return load_catalogue(evm_chains)


@pytest.fixture(scope="session")
def odd_catalogue(evm_chains: list[str]) -> Catalogue:
    """The built-in apps with those of tests/apps/good."""
    return load_catalogue(evm_chains, APPS / "good")
