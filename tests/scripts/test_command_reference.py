"""The reference of the command is what its parser says."""

from __future__ import annotations

import pytest

from cli.__main__ import COMMANDS
from scripts.command_reference import PAGE, main, render


@pytest.fixture(autouse=True)
def _default_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYPOST_GRPC_PORT", raising=False)


def test_the_reference_is_current() -> None:
    assert main(check=True) == 0, "run `python -m scripts.command_reference`"


def test_every_command_is_in_it_with_its_options() -> None:
    text = render()
    assert text in PAGE.read_text()
    for name in COMMANDS:
        assert f"### `waypost {name}" in text
    assert "| `--overlap TIME` |" in text
    # What processes of the gateway start each other with is no option of its users.
    assert "`--worker " not in text
    assert "--ledger" not in text
