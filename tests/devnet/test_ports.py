"""A port is given to one process at a time, also before anything listens on it."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING

import pytest

from devnet import ports

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLDS = """
import sys
from devnet import ports
print(ports.free_port(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def port() -> Iterator[int]:
    """A port that another process was given and does not use."""
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        yield int(other.stdout.readline())
        other.stdin.close()


def test_what_another_process_was_given_is_passed_over(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ports.free_port()
    monkeypatch.setattr(ports, "_ports", deque([port, other]))
    assert [ports.free_port() for _ in range(3)] == [other, other, other]
    # Nor as one of those that follow.
    monkeypatch.setattr(ports, "_ports", deque([port - 1]))
    with pytest.raises(OSError, match="no free port"):
        ports.free_port(following=1)
