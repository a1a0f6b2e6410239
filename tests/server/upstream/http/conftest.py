"""What every test of the HTTP client ends with."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", autouse=True)
def nothing_left_open() -> Iterator[None]:
    """What was not closed warns when it is collected, and warnings are errors."""
    yield
    gc.collect()
