from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runtime.operations import Operation, load_operations, load_watches
from runtime.settings import StreamSettings
from server.access.admission import Admission, ConcurrencyLimiter, Policy
from server.access.directory import KeyDirectory
from server.access.keys import KeyStore
from server.access.quotas import Quotas
from server.access.usage import Usage
from server.chains.facts import load_facts
from server.rpc.pipeline.admission import AdmissionStage
from server.rpc.pipeline.boundary import CallBoundary
from server.rpc.pipeline.interceptor import StagesInterceptor, build_execution
from server.rpc.pipeline.open_streams import OpenStreams
from server.storage.database import open_database
from tests.server.inprocess.rig import TRANSPORTS, WATCH
from tests.server.rpc.pipeline.watching import Watching

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def families() -> dict[str, str]:
    return {slug: facts.family for slug, facts in load_facts().items()}


@pytest.fixture(scope="session")
def operation() -> Callable[[str], Operation]:
    by_name = {operation.name: operation for operation in load_operations()}
    return by_name.__getitem__


@pytest.fixture
async def watching(
    transport: str, families: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Watching]:
    """Streams of WatchBlocks over one transport, within limits that a test may give."""
    limits = StreamSettings(**getattr(request, "param", {}))
    engine = await open_database(f"sqlite+aiosqlite:///{tmp_path / 'keys.db'}", "devnet")
    keys, usage = KeyStore(engine), Usage()
    directory = KeyDirectory(keys)
    admission = Admission(
        directory,
        Quotas(),
        ConcurrencyLimiter(1),
        accepts_local=True,
        default=Policy("default", 1000, 1000),
        demo=Policy("demo", 1, 1),
    )
    streams = OpenStreams(limits, admission, usage)
    [operation] = [one for one in load_watches() if one.path == WATCH]
    operations = {WATCH: replace(operation, available=operation.families)}
    boundary = CallBoundary(None, AdmissionStage(admission, None, usage), usage)
    execution = build_execution(families, admission, None, streams)
    interceptor = StagesInterceptor(boundary, execution, operations, private=False)
    async with TRANSPORTS[transport](interceptor) as rig:
        yield Watching(rig, keys, streams, usage)
    await streams.close()
    await directory.close()
    await engine.dispose()
