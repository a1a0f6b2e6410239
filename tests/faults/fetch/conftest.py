"""Guarded fetchers for tests."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from runtime.settings import FetcherSettings
from server.fetch import GuardedFetcher
from tests.faults.fetch.hosts import make_certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path


class Names:
    """A name server whose answers change: each look-up takes the next list, the last one stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@asynccontextmanager
async def run_fetcher(
    names: Names | None = None, *, tls: ssl.SSLContext | None = None, admits: Any = None, **settings: Any
) -> AsyncIterator[GuardedFetcher]:
    fetcher = GuardedFetcher(
        FetcherSettings(**settings), resolve=names.resolve if names else None, admits=admits, tls=tls
    )
    try:
        yield fetcher
    finally:
        await fetcher.close()


def only(*addresses: str) -> Callable[[Any], bool]:
    """Return a rule that takes these loopback addresses, and no others, for the public internet."""
    return lambda address: str(address) in addresses


class Certified:
    """A certificate for `meta.test`: what a server shows, and what a client that trusts it alone needs."""

    def __init__(self, folder: Path) -> None:
        certificate, key = make_certificate(folder, "meta.test", "other.test")
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.server.load_cert_chain(certificate, key)
        self.client = ssl.create_default_context(cafile=str(certificate))


@pytest.fixture(scope="session")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return Certified(tmp_path_factory.mktemp("certificates"))


async def sleep_for_ever(*_: Any) -> None:
    await asyncio.Event().wait()
