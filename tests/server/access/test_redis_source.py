"""Redis counts as memory does, by its own clock, and keeps nothing for long."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from redis.asyncio import Redis
from waypost_internal.v1 import access_pb2, access_pb2_grpc

from runtime.settings import GrpcSettings, QuotaSettings, Settings, StorageSettings
from server.access import leased_quotas
from server.access.leases import Take
from server.access.quotas import Quotas
from server.access.redis_source import RedisSource, open_redis_source
from server.app import Gateway
from tests.examples import examples
from tests.server.upstream.cache.conftest import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer.start()
    yield server
    server.stop()


# Intervals of hours: what passes between two charges is no unit.
charges = st.tuples(
    st.sampled_from(["key:1", "key:2", "demo:2001:db8::/64"]),
    st.sampled_from([3600 * SECOND, 7777 * SECOND + 777_777_777]),
    st.sampled_from([1, 7, 300]),
    st.integers(0, 3),
    st.integers(0, 50),
)


def test_it_counts_as_memory_does(redis_server: RedisServer) -> None:
    async def run() -> None:
        source = open_redis_source(redis_server.url, "same")
        client = Redis.from_url(redis_server.url)
        loop = asyncio.get_running_loop()

        @hypothesis.settings(max_examples=examples(60))
        @given(st.lists(charges, max_size=12))
        def compare(steps: list[tuple[str, int, int, int, int]]) -> None:
            asyncio.run_coroutine_threadsafe(one(steps), loop).result()

        async def one(steps: list[tuple[str, int, int, int, int]]) -> None:
            await client.flushall()
            memory = Quotas()
            for step in steps:
                (answer,) = await source.exchange([Take(*step)], 60)
                admitted, ahead = memory.take(*step)
                assert answer[0] == admitted
                assert abs(answer[1] - ahead) < 60 * SECOND

        await asyncio.to_thread(compare)
        # Many charges in one exchange are charged one after the other.
        await client.flushall()
        rows = await source.exchange([Take("key:1", SECOND, 10, 0, 4)] * 3, 60)
        assert [admitted for admitted, _ in rows] == [4, 4, 2]
        key = b"waypost:quota:1:same:key:1"
        assert 9_000 < await client.pttl(key) <= 10_000
        # A quota that is whole again, and one that was only looked at, are not kept.
        await source.exchange([Take("key:2", 1_000_000, 10, 0, 5), Take("key:3", SECOND, 10, 0, 0)], 60)
        await asyncio.sleep(0.05)
        assert await client.keys("*") == [key]
        # Rubbish where a time should be counts as none.
        await client.set(key, "rubbish")
        assert [admitted for admitted, _ in await source.exchange([Take("key:1", SECOND, 10, 0, 4)], 60)] == [4]
        await client.delete(key)
        await client.sadd(key, "a set")
        assert [admitted for admitted, _ in await source.exchange([Take("key:1", SECOND, 10, 0, 4)], 60)] == [4]
        # What comes later than it should is not charged.
        with pytest.raises(TimeoutError):
            await source.exchange([Take("key:4", SECOND, 10, 3, 4)], -1)
        assert await client.get("waypost:quota:1:same:key:4") is None
        assert [row[0] for row in await source.exchange([Take("key:4", SECOND, 10, 0, 20)], 1)] == [10]
        await client.aclose()
        await source.close()

    asyncio.run(run())


async def test_processes_are_counted_while_they_live(redis_server: RedisServer) -> None:
    sources: list[RedisSource] = [open_redis_source(redis_server.url, "alive") for _ in range(3)]
    assert [await source.count_processes() for source in sources] == [1, 2, 3]
    await sources[0].close()
    assert [await source.count_processes() for source in sources[1:]] == [2, 2]
    client = Redis.from_url(redis_server.url)
    # As one that died without a word.
    seconds, _ = await client.time()
    await client.zadd("waypost:quota:1:alive:processes", {"dead": seconds - 10})
    assert await sources[1].count_processes() == 2
    await client.aclose()
    for source in sources[1:]:
        await source.close()


async def test_two_gateways_share_the_demo_and_none_of_their_secrets_is_logged(
    redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A loaded machine takes its time; what is counted is the subject.
    monkeypatch.setattr(leased_quotas, "EXCHANGE_SECONDS", 10.0)
    settings = Settings(
        profile="devnet",
        storage=StorageSettings(url=SecretStr(f"sqlite:///{tmp_path}/waypost.db")),
        grpc=GrpcSettings(port=0),
        quotas=QuotaSettings(backend="redis", redis_url=SecretStr(redis_server.url), demo_rate=0.001, demo_burst=7),
    )
    async with AsyncExitStack() as stack:
        admits = []
        for _ in range(2):
            gateway = await Gateway.create(settings, servicers=())
            stack.push_async_callback(gateway.drain, 0)
            stub = access_pb2_grpc.AccessServiceStub(gateway.channel())  # type: ignore[no-untyped-call]
            admits.append(stub.Admit)
        request = access_pb2.AdmitRequest(demo=True, client_address="192.0.2.7", items=2)
        answers = [await admits[number % 2](request) for number in range(5)]
    assert [answer.admitted for answer in answers] == [2, 2, 2, 1, 0]
    assert [answer.remaining for answer in answers] == [5, 3, 1, 0, 0]
    assert str(redis_server.port) not in capsys.readouterr().err
