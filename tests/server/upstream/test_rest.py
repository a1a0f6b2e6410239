"""REST endpoints behind one pool: what is sent, what comes back, who is asked next."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web

from runtime.settings import EndpointSettings
from server.errors import DeadlineExceeded, NotFound, UpstreamUnavailable
from server.upstream import (
    NOT_MODIFIED,
    CallPolicy,
    Classified,
    HeadQuery,
    IdentityCheck,
    Reply,
    RestPool,
    Validators,
    Verdict,
    open_session,
    validators_of,
)
from tests.serving import serve_app

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Table:
    """404 is an answer, 501 another endpoint's business, everything else a fault."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int | None, str]] = []

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        self.seen.append((http_status, code, message))
        if http_status == 404:
            return Classified(Verdict.ANSWER, NotFound("it is not there"))
        if http_status == 501:
            return Classified(Verdict.ELSEWHERE, UpstreamUnavailable("no such route"), lacks="method")
        return Classified(Verdict.SICK, UpstreamUnavailable("the node failed"))


@asynccontextmanager
async def pool_of(*handlers: Handler, **options: object) -> AsyncIterator[tuple[RestPool, Table]]:
    endpoints = []
    table = Table()
    async with AsyncExitStack() as served, open_session() as http:
        for number, handler in enumerate(handlers):
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", handler)
            url = await served.enter_async_context(serve_app(app))
            endpoints.append(
                EndpointSettings.model_validate({"label": f"n{number}", "url": f"{url}/base/?key=k", "kind": "rest"})
            )
        pool = RestPool("chain", endpoints, table, http, block_time=6.0, **options)  # type: ignore[arg-type]
        try:
            yield pool, table
        finally:
            await pool.close()


def answering(body: str, status: int = 200, **headers: str) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=body, headers=headers)

    return answer


async def test_path_query_and_headers_arrive_and_the_answer_comes_back_whole() -> None:
    seen: list[tuple[str, list[tuple[str, str]], str | None, str]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        header = request.headers.get("x-cosmos-block-height")
        seen.append((request.path, list(request.query.items()), header, request.method))
        return web.Response(text='{"n": 18446744073709551616}', headers={"X-Cosmos-Block-Height": "7"})

    async with pool_of(answer) as (pool, _):
        reply = await pool.get(
            "/cosmos/x", [("denom", "ibc/AB+c&d e")], [("x-cosmos-block-height", "5")], name="/cosmos/x"
        )
    assert seen == [("/base/cosmos/x", [("key", "k"), ("denom", "ibc/AB+c&d e")], "5", "GET")]
    assert reply.result == b'{"n": 18446744073709551616}'
    assert reply.headers["x-cosmos-block-height"] == "7"
    assert reply.endpoint == "n0"


async def test_text_is_answered_as_it_is_and_is_no_answer_where_json_is_wanted() -> None:
    async with pool_of(answering("00000abc")) as (pool, _):
        assert (await pool.get("/tip", name="tip", is_text=True)).result == b"00000abc"
        with pytest.raises(UpstreamUnavailable, match="not JSON"):
            await pool.get("/tip", name="tip")


async def test_refusals_are_judged_by_status_code_and_message() -> None:
    body = '{"code":5,"message":"tx not found at http://secret/","details":[]}'
    async with pool_of(answering(body, 404)) as (pool, table):
        with pytest.raises(NotFound):
            await pool.get("/tx", name="tx")
    assert table.seen == [(404, 5, "tx not found at (address)")]
    async with pool_of(answering("Block not found", 404)) as (pool, table):
        with pytest.raises(NotFound):
            await pool.get("/block", name="block")
    assert table.seen == [(404, None, "Block not found")]


async def test_the_next_endpoint_is_asked_and_a_missing_route_is_remembered() -> None:
    asked: list[int] = []

    async def lacks(request: web.Request) -> web.StreamResponse:
        asked.append(0)
        return web.json_response({"code": 12, "message": "Not Implemented", "details": []}, status=501)

    async with pool_of(lacks, answering("{}")) as (pool, _):
        for _turn in range(3):
            assert (await pool.get("/route", name="route")).endpoint == "n1"
    assert asked == [0]


@pytest.mark.parametrize("body", [b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b"\xef\xbb\xbf{}"])
@pytest.mark.parametrize("status", [200, 500])
async def test_a_body_that_is_not_utf8_or_no_json_is_no_answer(body: bytes, status: int) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body)

    async with pool_of(answer, answering("{}")) as (pool, _):
        assert (await pool.get("/route", name="route")).endpoint == "n1"
    async with pool_of(answer) as (pool, _):
        with pytest.raises(UpstreamUnavailable):
            await pool.get("/route", name="route")


async def test_words_that_are_not_utf8_are_a_refusal_with_replacements() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500, body=b'{"code":5,"message":"m","error_code":"\xff"}')

    async with pool_of(answer) as (pool, table):
        with pytest.raises(UpstreamUnavailable):
            await pool.get("/route", name="route")
    assert set(table.seen) == {(500, None, '{"code":5,"message":"m","error_code":"\ufffd"}')}


async def test_a_broken_endpoint_does_not_break_reads() -> None:
    async with pool_of(answering("<html>", 502), answering("{}")) as (pool, table):
        for _turn in range(5):
            assert (await pool.get("/route", name="route")).result == b"{}"
    assert table.seen == []


async def test_identical_reads_share_one_request() -> None:
    count = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal count
        count += 1
        await asyncio.sleep(0.05)
        return web.Response(text="{}")

    async with pool_of(answer) as (pool, _):
        await asyncio.gather(*(pool.get("/a", name="a") for _ in range(5)), pool.get("/a", [("b", "c")], name="a"))
        assert count == 2
        await asyncio.gather(*(pool.get("/a", policy=CallPolicy(joinable=False), name="a") for _ in range(3)))
        assert count == 5


async def test_identity_and_probe_ask_paths() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text='"right"' if request.query.get("q") == "chain" else "12")

    check = IdentityCheck("/id", [("q", "chain")], lambda result: None if result == b'"right"' else "is another chain")
    head = HeadQuery("/head", [], int)
    async with pool_of(answer, answering('"wrong"'), verify=check, head=head) as (pool, _):
        rows = await pool.probe("/head", [])
        assert [row.result for row in rows] == [b"12", None]
        assert "is another chain" in str(rows[1].error)


async def test_a_web_page_is_no_plain_text() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text=" <!DOCTYPE html><html>Just a moment...</html>", content_type="text/html")

    async def text(request: web.Request) -> web.Response:
        return web.Response(text="840000")

    async with pool_of(page, text) as (pool, _):
        for _turn in range(3):
            assert (await pool.get("/tip", name="/tip", is_text=True)).result == b"840000"
    async with pool_of(page) as (pool, _):
        with pytest.raises(UpstreamUnavailable, match="a web page"):
            await pool.get("/tip", name="/tip", is_text=True)


@pytest.mark.parametrize("heavy", [False, True])
async def test_an_endpoint_that_hangs_gives_up_its_calls_and_comes_back(heavy: bool) -> None:
    thawed = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        await thawed.wait()
        return web.Response(text='"7"')

    head = HeadQuery("/tip", [], lambda body: int(body.strip(b'"')))
    async with pool_of(answer, head=head) as (pool, _):
        started = time.monotonic()
        policy = CallPolicy(heavy=heavy)
        with pytest.raises(DeadlineExceeded, match="chain did not answer in time: n0: hangs"):
            await pool.get("/x", policy=policy, name="/x", deadline=started + 20)
        assert time.monotonic() - started < 10
        with pytest.raises(UpstreamUnavailable, match="n0: hangs"):
            await pool.get("/x", policy=policy, name="/x", deadline=time.monotonic() + 20)
        thawed.set()
        for _ in range(100):
            if pool.is_sound:
                break
            await asyncio.sleep(0.05)
        assert (await pool.get("/x", policy=policy, name="/x", deadline=time.monotonic() + 5)).result == b'"7"'


async def test_a_post_carries_its_body_and_type_below_the_path() -> None:
    seen: list[tuple[str, str, list[tuple[str, str]], bytes, str | None, str | None]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        query, agent = list(request.query.items()), request.headers.get("User-Agent")
        seen.append((request.method, request.path, query, await request.read(), request.content_type, agent))
        return web.Response(text='{"ok": true}', headers={"X-Of": "post"})

    body = '{"type":"é"}'.encode()
    async with pool_of(answer) as (pool, _):
        reply = await pool.post("/info", body, [("User-Agent", "waypost/1")], name="/info")
        assert (reply.result, reply.endpoint, reply.headers["x-of"]) == (b'{"ok": true}', "n0", "post")
        await pool.post("/graphql", b"{a}", name="/graphql", query=[("x", "1 2")], content_type="application/graphql")
    assert seen == [
        ("POST", "/base/info", [("key", "k")], body, "application/json", "waypost/1"),
        ("POST", "/base/graphql", [("key", "k"), ("x", "1 2")], b"{a}", "application/graphql", None),
    ]


async def test_posts_are_joined_by_their_bodies_and_never_with_a_get() -> None:
    seen: list[tuple[str, bytes]] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append((request.method, await request.read()))
        await asyncio.sleep(0.05)
        return web.Response(text="{}")

    async with pool_of(answer) as (pool, _):
        posts = [pool.post("/a", body, name="/a") for body in (b"1", b"2", b"1", b"")]
        await asyncio.gather(*posts, pool.get("/a", name="/a"))
    assert sorted(seen) == [("GET", b""), ("POST", b""), ("POST", b"1"), ("POST", b"2")]


async def test_the_next_endpoint_is_asked_for_a_post_as_well() -> None:
    async with pool_of(answering("oops", 500), answering("[1]")) as (pool, table):
        assert (await pool.post("/a", b"{}", name="/a")).endpoint == "n1"
        assert table.seen == [(500, None, "oops")]
    async with pool_of(answering('{"message":"slow down"}', 429, **{"Retry-After": "60"})) as (pool, _):
        with pytest.raises(UpstreamUnavailable, match="n0: throttled") as raised:
            await pool.post("/a", b"{}", name="/a")
        assert raised.value.retry_after_ms is not None


@pytest.mark.parametrize(
    ("header", "asked"),
    [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")],
)
@pytest.mark.parametrize("method", ["get", "post"])
async def test_a_body_that_has_not_changed_is_not_sent_again(header: str, asked: str, method: str) -> None:
    version = {"ETag": 'W/"1-a"', "Last-Modified": "Sat, 21 Nov 2026 08:00:00 GMT"}
    now, seen = [version[header]], []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get(asked))
        if seen[-1] == now[0]:
            return web.Response(status=304, headers={header: now[0]})
        return web.Response(text=json.dumps({"version": now[0]}), headers={header: now[0]})

    async with pool_of(answer) as (pool, _):

        async def ask(known: Validators | None = None) -> Reply:
            if method == "post":
                return await pool.post("/doc", b"{}", name="/doc", validators=known)
            return await pool.get("/doc", name="/doc", validators=known)

        first = await ask()
        known = validators_of(first)
        assert known is not None
        unchanged = await ask(known)
        assert unchanged.result == NOT_MODIFIED
        now[0] = '"2"' if header == "ETag" else "Sat, 21 Nov 2026 09:00:00 GMT"
        changed = await ask(known)
        assert changed.result != first.result != NOT_MODIFIED
    assert seen == [None, version[header], version[header]]


async def test_validators_of_one_endpoint_are_not_sent_to_another() -> None:
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("If-None-Match"))
        return web.Response(text="{}", headers={"ETag": '"1"'})

    async with pool_of(answer) as (pool, _):
        reply = await pool.get("/doc", name="/doc", validators=Validators(0, '"1"'))
    assert reply.result == b"{}"
    assert seen == [None]


async def test_not_modified_without_a_condition_is_no_answer() -> None:
    async with pool_of(answering("", 304)) as (pool, _):
        with pytest.raises(UpstreamUnavailable, match="n0"):
            await pool.get("/doc", name="/doc")


@pytest.mark.parametrize("etag", ["1", '"a b"', '"a\tb"', '"' + "x" * 2000 + '"', '"\xff"'])
async def test_validators_that_http_does_not_allow_are_left_out(etag: str) -> None:
    assert validators_of(Reply(b"{}", "n0", 0.0, {"etag": etag})) is None
    assert validators_of(Reply(b"{}", "n0", 0.0, {})) is None
