"""`POST /-/console/tickets`: what the console's page exchanges its key for."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.transcoder.scripted import KEY, Face, Options, Server, serving
from transcoder.console_files import ConsoleFiles
from transcoder.pages import TICKETS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TICKET = "wt_" + "t" * 43


@pytest.fixture
async def face() -> AsyncIterator[Face]:
    options = Options(cors_origins=("*",))
    async with serving(options, Server(), console=ConsoleFiles("mainnet")) as face:
        yield face


async def ask(face: Face, authorization: str | None = f"Bearer {KEY}", **options: Any) -> tuple[int, Any, Any]:
    """Return status, JSON and headers of the answer."""
    headers = {} if authorization is None else {"Authorization": authorization}
    method = options.pop("method", "POST")
    async with face.session.request(method, face.base + TICKETS, headers=headers, **options) as response:
        return response.status, await response.json(), response.headers


async def test_a_key_is_exchanged_for_a_ticket(face: Face) -> None:
    status, answer, headers = await ask(face)
    assert (status, answer) == (200, {"ticket": TICKET, "expiresIn": 900})
    assert (headers["Cache-Control"], headers["X-Waypost-Cost"]) == ("no-store", "1")
    # No other origin reads it, whatever else it may.
    assert not [name for name in headers if name.startswith("Access-Control")]
    [(_, request, metadata)] = face.server.asked
    assert request.api_key == KEY  # type: ignore[attr-defined]
    assert KEY not in str(metadata)


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
async def test_the_scheme_is_read_as_any_case(face: Face, scheme: str) -> None:
    assert (await ask(face, f"{scheme}  {KEY} "))[0] == 200


@pytest.mark.parametrize(
    ("authorization", "reason", "text"),
    [
        (None, "KEY_MISSING", "Authorization: Bearer"),
        ("", "KEY_MISSING", "Authorization: Bearer"),
        ("Bearer", "KEY_MISSING", "Authorization: Bearer"),
        ("Basic d3A6", "KEY_MISSING", "Authorization: Bearer"),
        (KEY, "KEY_MISSING", "Authorization: Bearer"),
        ("Bearer a b", "KEY_INVALID", "malformed"),
        ("Bearer wp_ü", "KEY_INVALID", "malformed"),
        ("Bearer " + "a" * 129, "KEY_INVALID", "malformed"),
        ("Bearer wp_unknown", "KEY_INVALID", "no such API key"),
    ],
)
async def test_without_a_key_there_is_none(face: Face, authorization: str | None, reason: str, text: str) -> None:
    status, answer, headers = await ask(face, authorization)
    assert (status, answer["error"]["data"]["reason"]) == (401, reason)
    assert text in answer["error"]["message"]
    assert headers["WWW-Authenticate"] == "Bearer"
    assert headers["Cache-Control"] == "no-store"
    assert [name for name, _, _ in face.server.asked] == ["IssueTicket"] * (text == "no such API key")


async def test_other_refusals_keep_their_status(face: Face) -> None:
    status, answer, _ = await ask(face, "Bearer local")
    assert (status, answer["error"]["data"]["reason"]) == (400, "INVALID_ARGUMENT")
    face.server.admitted, face.server.retry_after_ms = 0, 1200
    status, answer, headers = await ask(face)
    assert (status, answer["error"]["data"]["reason"], headers["Retry-After"]) == (429, "RATE_LIMITED", "2")
    await face.channel.close()
    status, answer, headers = await ask(face)
    assert (status, answer["error"]["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE")


async def test_it_is_posted_for(face: Face) -> None:
    for method in ("GET", "PUT", "DELETE"):
        status, answer, headers = await ask(face, method=method)
        assert (status, headers["Allow"]) == (405, "POST, OPTIONS")
        assert "POST only" in answer["error"]["message"]
    # A page of another origin would have to ask before it sends the header, and is not let.
    options = {"Origin": "https://other.example", "Access-Control-Request-Headers": "authorization"}
    async with face.session.options(face.base + TICKETS, headers=options) as response:
        assert "authorization" not in response.headers["Access-Control-Allow-Headers"].lower()
    assert face.server.asked == []


async def test_a_caller_without_a_key_costs_headers_only(face: Face) -> None:
    parts = urlsplit(face.base)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"POST {TICKETS} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n".encode())
    async with asyncio.timeout(5):
        head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 401 ")
    assert b"Connection: close" in head
    writer.close()


async def test_no_key_and_no_ticket_is_written_down(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for authorization in (f"Bearer {KEY}", "Bearer wp_unknown", "Bearer a b"):
        await ask(face, authorization)
    for text in (KEY, "wp_unknown", "a b", TICKET):
        assert text not in "".join(record.getMessage() for record in caplog.records if "aiohttp" not in record.name)


async def test_without_the_console_there_are_none() -> None:
    async with serving(Options(), Server()) as face:
        status, answer, _ = await ask(face)
        assert (status, answer["error"]["data"]["reason"]) == (404, "NOT_FOUND")
        assert face.server.asked == []
