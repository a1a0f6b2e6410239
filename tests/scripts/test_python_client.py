"""The typed surface of the Python client is current, and names what the descriptors do."""

from __future__ import annotations

from scripts.python_client import main


def test_the_committed_surface_is_current() -> None:
    assert main(check=True) == 0, "run make generate"
