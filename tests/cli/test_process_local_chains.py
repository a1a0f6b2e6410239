"""Which local chains a command starts."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cli import devnet
from cli.process import Failed, Stop
from devnet.local_chain import NodeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.mark.parametrize("command", ["serve", "devnet"])
def test_both_commands_take_full(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    from cli.__main__ import main

    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "--full" in capsys.readouterr().out


@pytest.mark.parametrize("full", [False, True])
async def test_full_reaches_the_launcher(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[Any, bool]] = []

    @asynccontextmanager
    async def start(chains: Any, *, progress: Any, full: bool) -> AsyncIterator[str]:
        started.append((chains, full))
        yield "devnet"

    monkeypatch.setattr("devnet.launcher.Devnet.start", start)
    async with devnet.run_local_chains(Stop(), full=full) as running:
        assert running == "devnet"
    assert started == [(None, full)]


async def test_a_node_that_does_not_start_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def start(chains: Any, *, progress: Any, full: bool) -> AsyncIterator[str]:
        await asyncio.sleep(0)
        raise NodeError("it did not start")
        yield

    monkeypatch.setattr("devnet.launcher.Devnet.start", start)
    with pytest.raises(Failed, match="it did not start"):
        async with devnet.run_local_chains(Stop()):
            pass
