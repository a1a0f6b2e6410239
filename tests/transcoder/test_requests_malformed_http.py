"""Malformed HTTP, and bodies in chunks or compressed: understood within bounds, else a JSON error object."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import time
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.transcoder.scripted import KEY, Face

if TYPE_CHECKING:
    from collections.abc import Callable


HEALTH = {"jsonrpc": "2.0", "method": "getHealth", "id": 1}


async def raw(face: Face, sent: bytes) -> tuple[bytes, bytes]:
    """Return head and body of the answer to bytes written to the socket."""
    host, _, port = face.base.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(sent)
        received = await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()
        await writer.wait_closed()
    head, _, body = received.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET /secret-key/v1 HTTP/1.1\r\nbroken header\r\n\r\n",
        b"POST /secret-key/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: no\r\n\r\n",
        b"GET /" + b"k" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"BREW /secret-key/v1 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /secret-key/v1 HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_malformed_http_is_answered_in_json(face: Face, sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        head, body = await raw(face, sent)
    assert head.split()[1] in {b"400", b"404", b"405", b"417"}, head
    assert b"application/json" in head
    assert b"\r\nServer: waypost\r\n" in head
    answer = json.loads(body)
    assert answer["jsonrpc"] == "2.0"
    assert answer["error"]["code"] in {400, 404}
    assert "secret-key" not in caplog.text


async def test_a_broken_chunked_body(face: Face) -> None:
    start = f"POST /{KEY}/v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    head, body = await raw(face, start + b"zz\r\n{}\r\n0\r\n\r\n")
    assert head.split()[1] == b"400"
    assert json.loads(body)["error"]["code"] == 400


async def test_a_broken_content_encoding(face: Face, caplog: pytest.LogCaptureFixture) -> None:
    start = f"POST /{KEY}/v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: gzip\r\n".encode()
    head, body = await raw(face, start + b"Content-Length: 8\r\n\r\nnot gzip")
    assert head.split()[1] == b"400"
    assert json.loads(body)["error"]["data"]["reason"] == "PARSE_ERROR"
    # What clients send wrong must not look like a defect of the gateway, nor fill its log with tracebacks.
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZIP", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
        ("deflate", zlib.compress),
        ("identity", bytes),
    ],
)
async def test_compressed_bodies_are_understood(face: Face, coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed, headers = pack(json.dumps(HEALTH).encode()), {"Content-Encoding": coding}
    async with face.session.post(f"{face.base}/{KEY}/v1", data=packed, headers=headers) as response:
        assert "result" in await response.json()


async def test_encodings_that_are_not_understood_are_refused(face: Face) -> None:
    for coding in ("br", "zstd", "gzip, gzip"):
        headers = {"Content-Encoding": coding}
        async with face.session.post(f"{face.base}/{KEY}/v1", data=b"{}", headers=headers) as response:
            assert response.status == 400
            assert (await response.json())["error"]["data"]["reason"] == "PARSE_ERROR"


async def test_a_small_body_that_becomes_a_gigabyte_is_refused_unpacked_no_further_than_the_bound(face: Face) -> None:
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS + 16)
    start = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    segment = packer.compress(bytes(10 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = start + segment * 90
    head = f"POST /{KEY}/v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: gzip\r\n"
    sent = f"{head}Content-Length: {len(bomb)}\r\n\r\n".encode() + bomb
    began = time.process_time()
    for _ in range(20):
        answer, body = await raw(face, sent)
        assert answer.split()[1] == b"413"
        assert json.loads(body)["error"]["data"]["reason"] == "BODY_TOO_LARGE"
    # The library unpacked all of each: that took half a minute.
    assert time.process_time() - began < 3


async def test_expect_continue(face: Face) -> None:
    async with face.session.post(f"{face.base}/{KEY}/v1", json=HEALTH, expect100=True) as response:
        assert response.status == 200
        assert "result" in await response.json()
