"""What a third party's host cannot take: memory, time, connections. And what it may do."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import pytest

from runtime.metrics import REGISTRY
from server.fetch import FetchError, FetchFailed
from tests.faults.fetch.conftest import run_fetcher, sleep_for_ever
from tests.faults.fetch.hosts import Host, redirect, run_host, whole

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.fetch import GuardedFetcher

LIMIT = 64 * 1024
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with run_host({}) as running:
        yield running


@pytest.fixture
async def fetcher(host: Host) -> AsyncIterator[GuardedFetcher]:
    async with run_fetcher(allow=[f"127.0.0.1:{host.port}"], timeout=60.0, max_bytes=LIMIT) as running:
        yield running


@pytest.fixture
async def hasty(host: Host) -> AsyncIterator[GuardedFetcher]:
    """One that has little time for an answer, for answers that never come."""
    async with run_fetcher(allow=[f"127.0.0.1:{host.port}"], timeout=0.8, max_bytes=LIMIT) as running:
        yield running


def url(host: Host, path: str = "/") -> str:
    return f"http://127.0.0.1:{host.port}{path}"


async def endless(head: bytes, piece: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(head)
    while True:
        writer.write(piece)
        await writer.drain()


async def test_a_document_may_be_as_long_as_the_limit_and_no_longer(host: Host, fetcher: GuardedFetcher) -> None:
    host.answers["/"] = whole(b"x" * LIMIT, "Content-Type: Application/JSON; charset=utf-8")
    answer = await fetcher.fetch(url(host))
    assert (len(answer.body), answer.content_type, answer.status) == (LIMIT, "application/json", 200)
    host.answers["/"] = whole(b"x" * (LIMIT + 1))
    with pytest.raises(FetchFailed, match=f"longer than {LIMIT} bytes"):
        await fetcher.fetch(url(host))
    with pytest.raises(FetchFailed, match="longer than 100 bytes"):
        await fetcher.fetch(url(host), max_bytes=100)


@pytest.mark.parametrize(
    "head",
    [HEAD + b"\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n", HEAD + b"Content-Length: 99999999999\r\n\r\n"],
    ids=["until it closes", "chunked", "declared"],
)
async def test_an_endless_body_is_left_at_the_limit(host: Host, fetcher: GuardedFetcher, head: bytes) -> None:
    piece = b"400\r\n" + b"x" * 1024 + b"\r\n" if b"chunked" in head else b"x" * 1024

    async def answer(_: Host, __: bytes, writer: asyncio.StreamWriter) -> None:
        await endless(head, piece, writer)

    host.answers["/"] = answer
    with pytest.raises(FetchFailed, match="longer than"):
        await fetcher.fetch(url(host))


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x-gzip"])
async def test_a_decompression_bomb_is_not_unpacked(host: Host, fetcher: GuardedFetcher, encoding: str) -> None:
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS + (0 if encoding == "deflate" else 16))
    zeros = b"\0" * (1 << 20)
    bomb = b"".join(packer.compress(zeros) for _ in range(50)) + packer.flush()
    assert len(bomb) < LIMIT
    host.answers["/"] = whole(bomb, f"Content-Encoding: {encoding}")
    tracemalloc.start()
    try:
        with pytest.raises(FetchFailed, match="longer than"):
            await fetcher.fetch(url(host))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


async def test_compressed_documents_are_unpacked(host: Host, fetcher: GuardedFetcher) -> None:
    text = b'{"name":"x"}' * 100
    host.answers["/gzip"] = whole(gzip.compress(text), "Content-Encoding: gzip")
    host.answers["/deflate"] = whole(zlib.compress(text), "Content-Encoding: deflate")
    for path in ("/gzip", "/deflate"):
        assert (await fetcher.fetch(url(host, path))).body == text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (whole(gzip.compress(b"x" * 999)[:-9], "Content-Encoding: gzip"), "cut off"),
        (whole(b"no gzip at all", "Content-Encoding: gzip"), "compressed wrongly"),
        (whole(gzip.compress(gzip.compress(b"x")), "Content-Encoding: gzip, gzip"), "not asked for"),
        (whole(b"x", "Content-Encoding: br"), "not asked for"),
        (HEAD + b"Content-Length: 100\r\n\r\nshort", "broke the connection off"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "does not speak HTTP"),
        (b"", "does not speak HTTP"),
        (HEAD + b"X-Long: " + b"x" * 20_000 + b"\r\n\r\n", "does not speak HTTP"),
        (HEAD + b"".join(b"X-%d: x\r\n" % number for number in range(2000)) + b"\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 " + b"x" * 20_000 + b"\r\n\r\n", "does not speak HTTP"),
        (redirect("/\x01\x02"), "malformed"),
    ],
)
async def test_what_is_no_good_answer(host: Host, fetcher: GuardedFetcher, answer: bytes, words: str) -> None:
    host.answers["/"] = answer
    with pytest.raises(FetchError, match=words) as caught:
        await fetcher.fetch(url(host))
    assert str(host.port) not in caught.value.message
    assert "127." not in caught.value.message


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\n", HEAD + b"Content-Length: 9\r\n\r\nabc"])
async def test_a_host_that_falls_silent_is_left(host: Host, hasty: GuardedFetcher, sent: bytes) -> None:
    async def answer(_: Host, __: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await sleep_for_ever()

    host.answers["/"] = answer
    with pytest.raises(FetchFailed, match="too long to answer"):
        await hasty.fetch(url(host))


@pytest.mark.parametrize("head", [HEAD, HEAD + b"\r\n"], ids=["headers", "body"])
async def test_a_host_that_drips_is_left_when_the_whole_time_is_over(
    host: Host, hasty: GuardedFetcher, head: bytes
) -> None:
    async def answer(_: Host, __: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for number in range(1000):
            writer.write(b"X-%d: x\r\n" % number if head == HEAD else b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    host.answers["/"] = answer
    with pytest.raises(FetchFailed, match="too long to answer"):
        await hasty.fetch(url(host))


async def test_a_callers_deadline_counts_where_it_is_nearer(host: Host, fetcher: GuardedFetcher) -> None:
    host.answers["/"] = sleep_for_ever
    began = time.monotonic()
    with pytest.raises(FetchFailed, match="too long to answer"):
        await fetcher.fetch(url(host), deadline=began + 0.5)
    assert time.monotonic() - began < 4
    before = host.connections
    with pytest.raises(FetchFailed, match="too long to answer"):
        await fetcher.fetch(url(host), deadline=began - 1)
    assert host.connections == before


async def test_three_redirects_are_followed_and_no_more(host: Host, fetcher: GuardedFetcher) -> None:
    for hop in range(4):
        host.answers[f"/{hop}"] = redirect(f"/{hop + 1}")
    host.answers["/4"] = whole(b"end")
    assert (await fetcher.fetch(url(host, "/1"))).body == b"end"
    with pytest.raises(FetchFailed, match="redirects too often"):
        await fetcher.fetch(url(host, "/0"))
    host.answers["/0"] = redirect("/0")
    before = host.connections
    with pytest.raises(FetchFailed, match="redirects too often"):
        await fetcher.fetch(url(host, "/0"))
    assert host.connections == before + 4


async def test_redirects_share_one_time(host: Host, hasty: GuardedFetcher) -> None:
    def slowly(to: str) -> object:
        async def answer(_: Host, __: bytes, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.3)
            writer.write(redirect(to))

        return answer

    host.answers |= {f"/{hop}": slowly(f"/{hop + 1}") for hop in range(4)}  # type: ignore[dict-item]
    with pytest.raises(FetchFailed, match="too long to answer"):
        await hasty.fetch(url(host, "/0"))


@pytest.mark.parametrize(
    ("status", "method"), [("302 Found", b"GET"), ("303 See Other", b"GET"), ("307 T", b"POST"), ("308 P", b"POST")]
)
async def test_a_post_stays_one_only_where_the_redirect_says_so(
    host: Host, fetcher: GuardedFetcher, status: str, method: bytes
) -> None:
    host.answers["/"] = redirect("/next", status)
    host.answers["/next"] = whole(b"end")
    await fetcher.fetch(url(host), method="POST", body=b'{"data":"0x"}', accept="application/json")
    first, second = host.requests
    assert first.startswith(b"POST / ")
    assert b"\r\nContent-Type: application/json\r\n" in first
    assert b"\r\nAccept: application/json\r\n" in first
    assert first.endswith(b'{"data":"0x"}')
    assert second.startswith(method + b" /next ")
    assert second.endswith(b'{"data":"0x"}') == (method == b"POST")


async def test_an_error_is_an_answer_with_its_status(host: Host, fetcher: GuardedFetcher) -> None:
    host.answers["/"] = whole(b'{"message":"gone"}', status="410 Gone")
    answer = await fetcher.fetch(url(host), label="the off-chain gateway")
    assert (answer.status, answer.body, answer.url_label) == (410, b'{"message":"gone"}', "the off-chain gateway")


async def test_one_host_takes_no_more_than_its_share_of_connections(host: Host, fetcher: GuardedFetcher) -> None:
    full = asyncio.Event()

    async def answer(asked: Host, *_: object) -> None:
        if asked.connections >= 8:
            full.set()
        await sleep_for_ever()

    host.answers["/"] = answer
    fetches = [asyncio.create_task(fetcher.fetch(url(host))) for _ in range(40)]
    await asyncio.wait_for(full.wait(), 60)
    await asyncio.sleep(0.2)
    assert host.connections == 8
    for fetch in fetches:
        fetch.cancel()
    assert {type(result) for result in await asyncio.gather(*fetches, return_exceptions=True)} == {
        asyncio.CancelledError
    }


async def test_a_cancelled_fetch_leaves_no_connection(host: Host, fetcher: GuardedFetcher) -> None:
    asked = asyncio.Event()

    async def answer(*_: object) -> None:
        asked.set()
        await sleep_for_ever()

    host.answers["/"] = answer
    task = asyncio.create_task(fetcher.fetch(url(host)))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    host.answers["/"] = whole(b"fine")
    answers = await asyncio.gather(*(fetcher.fetch(url(host)) for _ in range(20)))
    assert {answer.body for answer in answers} == {b"fine"}


async def test_fetches_are_counted_by_their_result(host: Host, fetcher: GuardedFetcher, hasty: GuardedFetcher) -> None:
    def counted() -> list[float]:
        results = ("answer", "refused", "failed")
        return [REGISTRY.get_sample_value("waypost_fetches_total", {"result": result}) or 0.0 for result in results]

    host.answers |= {"/": whole(b"fine"), "/late": sleep_for_ever, "/bad": b"no HTTP\r\n\r\n"}
    before = counted()
    await fetcher.fetch(url(host))
    for asking, bad in ((hasty, url(host, "/late")), (fetcher, url(host, "/bad")), (fetcher, "https://127.0.0.1/")):
        with pytest.raises(FetchError):
            await asking.fetch(bad)
    assert [now - then for now, then in zip(counted(), before, strict=True)] == [1, 1, 2]
