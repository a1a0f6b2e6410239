"""Every way in which an answer can be framed: read right or refused, and never part of the next exchange."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest

from server.upstream.failures import Failure, Kind
from server.upstream.http import Client, HttpAnswer
from tests.server.upstream.http.scripted import LIMIT, Visit, answering, ask, on_both_loops, plain, serving

INVALID = Failure(Kind.NOT_JSON_RPC, "not a valid HTTP answer")
CUT_OFF = Failure(Kind.NOT_JSON_RPC, "the answer was cut off")
DROPPED = Failure(Kind.DROPPED, "connection dropped")
NEXT = plain(b"next")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


# What the server sends, the status and body that it means, whether the connection carries on.
ANSWERS: dict[str, tuple[bytes, int, bytes, bool]] = {
    "length": (plain(b"abc"), 200, b"abc", True),
    "empty": (plain(b""), 200, b"", True),
    "blank around the length": (b"HTTP/1.1 200 OK\r\nContent-Length:  3 \r\n\r\nabc", 200, b"abc", True),
    "chunked": (CHUNKED + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 200, b"abc", True),
    "chunked in capitals": (
        b"HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
        200,
        b"0123456789",
        True,
    ),
    "chunk extension": (CHUNKED + b'2;a="b"\r\nab\r\n0\r\n\r\n', 200, b"ab", True),
    "blank behind the chunk size": (CHUNKED + b"2 \r\nab\r\n0\r\n\r\n", 200, b"ab", True),
    "trailers": (CHUNKED + b"2\r\nab\r\n0\r\nX-Sum: 1\r\nRetry-After: 9\r\n\r\n", 200, b"ab", True),
    "to the end": (b"HTTP/1.1 200 OK\r\n\r\nabc", 200, b"abc", False),
    "nothing to the end": (b"HTTP/1.1 200 OK\r\n\r\n", 200, b"", False),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc", False),
    "old to the end": (b"HTTP/1.0 200 OK\r\n\r\nabc", 200, b"abc", False),
    "old and kept": (
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc",
        200,
        b"abc",
        True,
    ),
    "close": (plain(b"abc", b"Connection: close"), 200, b"abc", False),
    "close, and a line end": (plain(b"abc", b"Connection: close") + b"\r\n", 200, b"abc", False),
    "close, and more": (plain(b"abc", b"Connection: close") + b"HTTP/1.1 200 OK\r\n", 200, b"abc", False),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99999999999\r\n\r\n", 304, b"", True),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n" + plain(b"abc"), 200, b"abc", True),
    "hints": (
        b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nLink: <x>\r\n\r\n"
        + plain(b"abc"),
        200,
        b"abc",
        True,
    ),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc", 200, b"abc", True),
    "line ends of one byte": (b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", 200, b"abc", True),
    "a line end before it": (b"\r\n" + plain(b"abc"), 200, b"abc", True),
    "upgrade offered": (plain(b"abc", b"Upgrade: h2c", b"Connection: Upgrade"), 200, b"abc", True),
    "error": (plain(b"oops", status=b"502 Bad Gateway"), 502, b"oops", True),
    "redirect": (plain(b"", b"Location: http://127.0.0.1:9/", status=b"302 Found"), 302, b"", True),
    "gzip": (plain(gzip.compress(b"abc"), b"Content-Encoding: gzip"), 200, b"abc", True),
    "gzip by its old name": (plain(gzip.compress(b"abc"), b"Content-Encoding: X-GZip"), 200, b"abc", True),
    "gzip in two members": (
        plain(gzip.compress(b"ab") + gzip.compress(b"c"), b"Content-Encoding: gzip"),
        200,
        b"abc",
        True,
    ),
    "gzip and padding": (plain(gzip.compress(b"abc") + bytes(9), b"Content-Encoding: gzip"), 200, b"abc", True),
    "gzip of nothing sent": (plain(b"", b"Content-Encoding: gzip"), 200, b"", True),
    "deflate": (plain(zlib.compress(b"abc"), b"Content-Encoding: deflate"), 200, b"abc", True),
    "bare deflate": (plain(raw_deflate(b"abc"), b"Content-Encoding: deflate"), 200, b"abc", True),
    "identity": (plain(b"abc", b"Content-Encoding: identity"), 200, b"abc", True),
    "gzip to the end": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"abc"),
        200,
        b"abc",
        False,
    ),
    "bytes behind it": (plain(b"abc") + b"x", 200, b"abc", False),
    "another answer behind it": (plain(b"abc") + plain(b"stray"), 200, b"abc", False),
    "half an answer behind it": (plain(b"abc") + b"HTTP/1.1 200 OK\r\nContent-Le", 200, b"abc", False),
    "a body that 204 has not": (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nstray", 204, b"", False),
}

REFUSED: dict[str, bytes] = {
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
    "the same length twice": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "a list of lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\nabc",
    "length and chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc",
    "length that is no number": b"HTTP/1.1 200 OK\r\nContent-Length: 0x3\r\n\r\nabc",
    "length beyond 64 bits": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc",
    "compressed transfer": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "transfer that is not chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
    "chunked, but not last": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "chunked in two lines": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"
    ),
    "chunk without size": CHUNKED + b"\r\nabc\r\n0\r\n\r\n",
    "chunk with a bad size": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "chunk longer than it says": CHUNKED + b"2\r\nabc\r\n0\r\n\r\n",
    "chunk size beyond 64 bits": CHUNKED + b"fffffffffffffffff\r\nabc",
    "length in a trailer": CHUNKED + b"2\r\nab\r\n0\r\nContent-Length: 7\r\n\r\n",
    "switching protocols": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nPRI",
    "switching to nothing": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "status below 100": b"HTTP/1.1 042 Odd\r\nContent-Length: 0\r\n\r\n",
    "status of two digits": b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/2": b"HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "HTML": b"<html><body>no</body></html>",
    "folded header": b"HTTP/1.1 200 OK\r\nX-Long: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "blank in a header's name": b"HTTP/1.1 200 OK\r\nContent Length: 3\r\n\r\nabc",
    "blank behind a header's name": b"HTTP/1.1 200 OK\r\nContent-Length : 3\r\n\r\nabc",
    "control characters in a header": b"HTTP/1.1 200 OK\r\nX-Odd: a\x00b\r\nContent-Length: 0\r\n\r\n",
    "unknown coding": plain(b"abc", b"Content-Encoding: br"),
    "two codings": plain(gzip.compress(gzip.compress(b"abc")), b"Content-Encoding: gzip, gzip"),
    "two codings in two lines": plain(b"abc", b"Content-Encoding: gzip", b"Content-Encoding: gzip"),
    "not gzip": plain(b"abc", b"Content-Encoding: gzip"),
    "gzip without its end": plain(gzip.compress(b"abc" * 99)[:-9], b"Content-Encoding: gzip"),
    "gzip with a wrong sum": plain(gzip.compress(b"abc")[:-8] + bytes(8), b"Content-Encoding: gzip"),
    "gzip and something else": plain(gzip.compress(b"abc") + b"def", b"Content-Encoding: gzip"),
    "not deflate": plain(b"\xff\xff\xff\xff", b"Content-Encoding: deflate"),
    "deflate and something else": plain(zlib.compress(b"abc") + b"def", b"Content-Encoding: deflate"),
    "endless header": b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 70_000 + b"\r\nContent-Length: 0\r\n\r\n",
    "endless headers": b"HTTP/1.1 200 OK\r\n" + b"X-Much: abcdefgh\r\n" * 5_000 + b"Content-Length: 0\r\n\r\n",
    "endless answers before the answer": b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 9_000,
    "endless trailers": CHUNKED + b"2\r\nab\r\n0\r\n" + b"X-Much: abcdefgh\r\n" * 20_000,
    "endless chunk extension": CHUNKED + b"2;" + b"a" * 400_000,
}

CUT = {
    "in the status": b"HTTP/1.1 20",
    "in the headers": b"HTTP/1.1 200 OK\r\nContent-",
    "before the body": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    "in the body": b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
    "in a chunk": CHUNKED + b"3\r\nab",
    "between chunks": CHUNKED + b"3\r\nabc\r\n",
    "before the last line end": CHUNKED + b"3\r\nabc\r\n0\r\n",
    "behind an answer before the answer": b"HTTP/1.1 100 Continue\r\n\r\n",
}


def once(data: bytes) -> object:
    """Answer the first connection with these bytes and its end, each later one as it should be."""

    async def script(visit: Visit) -> None:
        if visit.number:
            await answering(NEXT)(visit)
        await visit.request()
        await visit.send(data)

    return script


@pytest.mark.parametrize("name", ANSWERS)
@on_both_loops
async def test_an_answer_is_read_right_and_the_next_one_is_the_next_ones(name: str) -> None:
    data, status, body, keeps = ANSWERS[name]

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(NEXT if visit.number else data)
        if not keeps and b"Content-Length" not in data:
            return
        await visit.request()
        await visit.send(NEXT)
        await visit.gone()

    async with Client() as client, serving(script) as server:
        got = await ask(client, server)
        assert isinstance(got, HttpAnswer)
        assert (got.status, got.body, got.retry_after) == (status, body, None)
        following = await ask(client, server)
        assert isinstance(following, HttpAnswer)
        assert following.body == b"next"
        assert server.used == ([0, 0] if keeps else [0, 1])


@pytest.mark.parametrize("name", REFUSED)
@on_both_loops
async def test_what_could_be_read_in_two_ways_or_none_is_refused_and_the_connection_closed(name: str) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(NEXT if visit.number else REFUSED[name])
        await visit.gone()

    async with Client() as client, serving(script) as server:
        assert await ask(client, server) == INVALID
        await server.until(lambda: server.ended == {0})
        following = await ask(client, server)
        assert isinstance(following, HttpAnswer)
        assert following.body == b"next"
        assert server.used == [0, 1]


@pytest.mark.parametrize("name", CUT)
@on_both_loops
async def test_an_answer_that_breaks_off_is_reported_and_not_asked_again(name: str) -> None:
    async with Client() as client, serving(once(CUT[name])) as server:  # type: ignore[arg-type]
        assert await ask(client, server) == CUT_OFF
        assert server.used == [0]
        assert isinstance(await ask(client, server), HttpAnswer)
        assert server.used == [0, 1]


@on_both_loops
async def test_an_answer_that_ends_with_a_reset_is_cut_off_even_if_it_runs_to_the_end() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(b"HTTP/1.1 200 OK\r\n\r\nab")
        # Read first what came: a reset may overtake what stands before it.
        await seen.wait()
        visit.reset()

    seen = asyncio.Event()
    async with Client() as client, serving(script) as server:
        asking = asyncio.create_task(ask(client, server))
        await server.until(lambda: bool(server.requests))
        await asyncio.sleep(0.05)
        seen.set()
        assert await asking in (CUT_OFF, DROPPED)


@pytest.mark.parametrize("resets", [False, True])
@on_both_loops
async def test_a_connection_that_dies_before_a_byte_came_is_replaced_once(resets: bool) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        if visit.number:
            await visit.send(NEXT)
            await visit.gone()
        elif resets:
            visit.reset()

    async with Client() as client, serving(script) as server:
        got = await ask(client, server, b'{"a":1}')
        assert isinstance(got, HttpAnswer)
        assert got.body == b"next"
        assert server.used == [0, 1]
        assert server.requests[0][1] == server.requests[1][1]


@on_both_loops
async def test_a_server_that_drops_every_connection_is_asked_twice() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()

    async with Client() as client, serving(script) as server:
        assert await ask(client, server) == DROPPED
        assert server.used == [0, 1]


@pytest.mark.parametrize(
    "answer",
    [
        plain(b"x" * 1000),
        CHUNKED + b"3e8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1000,
        plain(gzip.compress(b"x" * 1000), b"Content-Encoding: gzip"),
        plain(zlib.compress(b"x" * 1000), b"Content-Encoding: deflate"),
    ],
    ids=["length", "chunked", "to the end", "gzip", "deflate"],
)
@on_both_loops
async def test_the_bound_of_a_body_holds_to_the_byte(answer: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(answer)

    async with Client() as client, serving(script) as server:
        got = await ask(client, server, limit=1000)
        assert isinstance(got, HttpAnswer)
        assert len(got.body) == 1000
        assert await ask(client, server, limit=999) == Failure(Kind.TOO_LARGE, "an answer of more than 999 bytes")


@pytest.mark.parametrize("kind", ["length", "chunked", "to the end", "gzip"])
@on_both_loops
async def test_an_overlong_answer_is_given_up_where_that_shows(kind: str) -> None:
    """Not after all of it was sent: the server finds the connection closed."""
    head = {
        "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (LIMIT + 1),
        "chunked": CHUNKED,
        "to the end": b"HTTP/1.1 200 OK\r\n\r\n",
        "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
    }[kind]
    piece = b"x" * 65536
    if kind == "chunked":
        piece = b"10000\r\n" + piece + b"\r\n"
    elif kind == "gzip":
        piece = gzip.compress(bytes(8 * LIMIT))

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(head)
        while kind in ("chunked", "to the end"):
            await visit.send(piece)
            await asyncio.sleep(0)
        if kind == "gzip":
            await visit.send(piece)
        await visit.gone()

    async with Client() as client, serving(script) as server:
        assert await ask(client, server) == Failure(Kind.TOO_LARGE, f"an answer of more than {LIMIT} bytes")
        await server.until(lambda: server.ended == {0})


@on_both_loops
async def test_headers_are_reported_in_lower_case_the_last_of_a_name_counts() -> None:
    answer = plain(b"", b"X-Cosmos-Block-Height: 7", b"X-Twice: a", b"X-Empty:", b"x-twice: b \t", b"Retry-After: 7")
    async with Client() as client, serving(answering(answer)) as server:
        got = await ask(client, server)
        assert isinstance(got, HttpAnswer)
        assert got.retry_after == 7.0
        assert dict(got.headers) == {
            "content-length": "0",
            "x-cosmos-block-height": "7",
            "x-twice": "b",
            "x-empty": "",
            "retry-after": "7",
        }
        assert got.headers["x-twice"] == "b"
        assert got.headers.get("x-none") is None
        assert len(got.headers) == 5


@on_both_loops
async def test_trailers_are_no_headers() -> None:
    async with Client() as client, serving(answering(ANSWERS["trailers"][0])) as server:
        got = await ask(client, server)
        assert isinstance(got, HttpAnswer)
        assert dict(got.headers) == {"transfer-encoding": "chunked"}


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"], ids=["silent", "stalled"])
@on_both_loops
async def test_who_waits_too_long_is_reported_and_the_connection_closed(sent: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(NEXT)
        await visit.request()
        await visit.send(NEXT if visit.number else sent)
        await visit.gone()

    async with Client() as client, serving(script) as server:
        loop = asyncio.get_running_loop()
        assert isinstance(await ask(client, server), HttpAnswer)
        started = loop.time()
        assert await ask(client, server, seconds=0.25) == Failure(Kind.TIMED_OUT, "no answer within 250 ms")
        assert loop.time() - started > 0.24
        await server.until(lambda: server.ended == {0})
        assert isinstance(await ask(client, server), HttpAnswer)
        assert server.used == [0, 0, 1]


@on_both_loops
async def test_an_answer_before_the_request_was_out_counts_but_ends_the_connection() -> None:
    async def script(visit: Visit) -> None:
        if visit.number:
            await answering(NEXT)(visit)
        # No more than its beginning is read: the rest stays where it is.
        await visit.begun()
        await visit.send(plain(b"too long", status=b"413 Payload Too Large"))
        await over.wait()

    over = asyncio.Event()
    async with Client() as client, serving(script) as server:
        got = await ask(client, server, b"x" * (64 << 20))
        assert isinstance(got, HttpAnswer)
        assert (got.status, got.body) == (413, b"too long")
        following = await ask(client, server)
        assert isinstance(following, HttpAnswer)
        assert following.body == b"next"
        assert server.used == [1]
        over.set()
