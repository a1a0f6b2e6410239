from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runtime.operations import Operation, load_operations
from server.chains.facts import load_facts

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def families() -> dict[str, str]:
    return {slug: facts.family for slug, facts in load_facts().items()}


@pytest.fixture(scope="session")
def operation() -> Callable[[str], Operation]:
    by_name = {operation.name: operation for operation in load_operations()}
    return by_name.__getitem__
