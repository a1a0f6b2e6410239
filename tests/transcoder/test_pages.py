"""The OpenRPC document is made once for each content, for all callers and however often."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waypost_internal.v1 import publication_pb2

from runtime.operations import load_operations, load_watches
from tests.transcoder.scripted import KEY, Face, Options, Server, serving
from transcoder import discover
from transcoder.pages import Shared, accepts_gzip, zipped

pytestmark = pytest.mark.slow

DISCOVER = {"jsonrpc": "2.0", "method": "rpc.discover", "id": 1}
PLAIN = {"Accept-Encoding": "identity"}
PACKED = {"Accept-Encoding": "gzip"}


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The base URLs of the documents that are built."""
    bases: list[str] = []
    build = discover.openrpc

    def counted(operations: Any, base: str, *published: Any, **options: Any) -> Any:
        bases.append(base)
        return build(operations, base, *published, **options)

    monkeypatch.setattr(discover, "openrpc", counted)
    discover.operations_document.cache_clear()
    return bases


async def test_it_is_built_once_whatever_the_host(built: list[str]) -> None:
    async with serving(Options(), Server()) as face:
        for host in ("a.example", "b.example:81", "c.example"):
            async with face.session.get(f"{face.base}/openrpc.json", headers={"Host": host}) as response:
                document = await response.json()
                assert document["servers"][0]["url"] == f"http://{host}/${{key}}/v1"
            _, answer, _ = await face.post(DISCOVER, headers={"Host": host})
            assert answer["result"] == document
        assert len(built) == 1
        # The server's list changes: so does the document of what it has.
        for version in ("1", "2"):
            face.server.published = publication_pb2.ListPublicationsResponse(version=version)
            answers = await asyncio.gather(*(face.session.get(f"{face.base}/openrpc.json?apps=all") for _ in range(9)))
            assert {answer.status for answer in answers} == {200}
            await face.post([DISCOVER] * 50)
        assert len(built) == 3


async def test_it_is_built_before_it_is_asked_for(built: list[str]) -> None:
    async with serving(Options(), Server()) as face:
        assert len(built) == 1
        assert (await face.post(DISCOVER, path="/wp_bad/v1"))[0] == 401
        assert face.server.documented == []
        assert len(built) == 1


async def test_there_is_no_other_document(face: Face) -> None:
    async with face.session.get(f"{face.base}/openrpc.json?apps=erc20") as response:
        assert response.status == 400
        error = (await response.json())["error"]
    assert (error["data"]["reason"], error["data"]["field"]) == ("INVALID_ARGUMENT", "apps")
    async with face.session.get(f"{face.base}/openrpc.json?cached=no") as response:
        assert response.status == 200


async def test_the_overview_names_every_operation(face: Face) -> None:
    async with face.session.get(f"{face.base}/llms.txt") as response:
        assert (response.status, response.content_type) == (200, "text/plain")
        text = await response.text()
    lines = re.findall(r"^- ([A-Za-z0-9_*]+)(?: or \w+)*\((.*)\): (.+\.)$", text, re.MULTILINE)
    assert [line[0] for line in lines] == [one.name for one in (*load_operations(), *load_watches()) if one.available]
    assert ("getBalance", "chain, address, blockHeight?") in [line[:2] for line in lines]
    assert ("getBlockByNumber", "[chain, block]") in [line[:2] for line in lines]
    for part in (f"{face.base}/<API_KEY>/v1", f"{face.base}/openrpc.json?apps=all"):
        assert part in text


async def test_it_is_compressed_and_has_a_tag() -> None:
    async with serving(Options(cors_origins=("https://a.example",)), Server()) as face:

        async def get(**headers: str) -> tuple[int, bytes, Any]:
            url = f"{face.base}/openrpc.json"
            async with face.session.get(url, headers=headers, skip_auto_headers=("Accept-Encoding",)) as response:
                return response.status, await response.content.read(), response.headers

        status, plain, headers = await get(**{"Accept-Encoding": "identity", "Origin": "https://a.example"})
        assert (status, headers.get("Content-Encoding"), headers["Cache-Control"]) == (200, None, "no-cache")
        assert headers["Vary"] == "Origin, Accept-Encoding"
        tag = headers["ETag"]
        status, unpacked, headers = await get(**PACKED)
        assert (unpacked, headers["Content-Encoding"]) == (plain, "gzip")
        assert int(headers["Content-Length"]) * 5 < len(plain)
        packed_tag = headers["ETag"]
        assert tag != packed_tag
        for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
            status, nothing, headers = await get(**PLAIN, **{"If-None-Match": known})
            assert (status, nothing, headers["ETag"]) == (304, b"", tag)
        assert (await get(**PACKED, **{"If-None-Match": packed_tag}))[0] == 304
        assert (await get(**PACKED, **{"If-None-Match": tag}))[0] == 200
        async with face.session.head(f"{face.base}/openrpc.json", headers=PLAIN) as response:
            assert int(response.headers["Content-Length"]) == len(plain)


async def test_discover_is_compressed_for_who_takes_it(face: Face) -> None:
    for body in (DISCOVER, [DISCOVER, {**DISCOVER, "id": "x"}, {"jsonrpc": "2.0", "id": 3, "method": "getHealth"}]):
        texts = []
        for headers, coding in ((PLAIN, None), (PACKED, "gzip")):
            url = f"{face.base}/{KEY}/v1"
            async with face.session.post(url, json=body, headers=headers) as response:
                assert response.headers.get("Content-Encoding") == coding
                texts.append(await response.read())
                length = int(response.headers["Content-Length"])
        assert texts[0] == texts[1]
        assert length * 5 < len(texts[0])
        json.loads(texts[0])


async def test_discover_is_charged_before_it_is_answered(face: Face) -> None:
    face.server.admitted = 0
    face.server.limit = 5
    status, answer, _ = await face.post(DISCOVER)
    assert (status, answer["error"]["data"]["reason"]) == (429, "RATE_LIMITED")
    assert [name for name, _, _ in face.server.asked] == ["Admit"]
    face.server.admitted = 1
    _, answers, _ = await face.post([DISCOVER, DISCOVER])
    assert ["result" in answer for answer in answers] == [True, False]
    # Who asks pays: the call goes in the principal's name.
    await face.post(DISCOVER)
    assert [metadata.get("x-waypost-principal") for metadata in face.server.documented] == ["key:1", "key:1"]
    async with face.session.get(f"{face.base}/openrpc.json?apps=all") as response:
        assert response.status == 200
    assert "x-waypost-principal" not in face.server.documented[-1]


@given(st.lists(st.one_of(st.binary(max_size=300), st.just(None)), max_size=8), st.binary(max_size=5000))
def test_parts_make_one_gzip_member(parts: list[bytes | None], text: bytes) -> None:
    shared = Shared(text)
    whole = b"".join(text if part is None else part for part in parts)
    packed = b"".join(zipped([shared if part is None else part for part in parts]))
    inflater = zlib.decompressobj(31)
    assert inflater.decompress(packed) == whole
    assert inflater.eof
    assert inflater.unused_data == b""
    assert gzip.decompress(packed) == whole


def test_long_parts_are_stored_in_several_blocks() -> None:
    part = bytes(range(256)) * 600
    assert gzip.decompress(b"".join(zipped([part, Shared(part), part]))) == part * 3


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("GZIP, deflate", True),
        ("deflate, gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("br", False),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("x-gzip", True),
        ("identity", False),
    ],
)
def test_what_an_accept_encoding_header_says(header: str | None, taken: bool) -> None:
    assert accepts_gzip(header) is taken
