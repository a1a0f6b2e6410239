from __future__ import annotations

import pytest

from server.chains.evm.reads import planner


@pytest.fixture(autouse=True)
def _company(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of one moment leave together, also where other processes keep this one from running between their turns.

    Tests count requests. The bound is there for a gateway whose own loop is busy, and is tried in tests/unit.
    """
    monkeypatch.setattr(planner, "LONGEST_SECONDS", 10.0)
