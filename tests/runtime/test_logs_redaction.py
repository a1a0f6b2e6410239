"""Nothing that is secret survives redaction; what is not secret does."""

from __future__ import annotations

import base64
import time
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from runtime.logs import redact, redact_member, redact_text

SECRET = "SECRETabc123"
KEY = "wp_" + base64.urlsafe_b64encode(bytes(range(32))).decode().rstrip("=")

TEXTS = [
    f"https://eth.example.org/v2/{SECRET}",
    f"HTTPS://eth.example.org/v2/{SECRET}",
    f"http://user:{SECRET}@node:8545/",
    f"wss://eth.example.org/ws/{SECRET}?a=b",
    f"postgresql+asyncpg://waypost:{SECRET}@db/waypost",
    f"see (https://eth.example.org/{SECRET}), then",
    f"url='https://eth.example.org/{SECRET}'",
    f'{{"url": "https://eth.example.org/{SECRET}"}}',
    f"https%3A%2F%2Feth.example.org%2F{SECRET}",
    f"https://eth.example.org/{{{SECRET}}}",
    f"POST /{SECRET}/v1 HTTP/1.1",
    f"GET /{SECRET}/v1?x=1",
    f"path=/{SECRET}%20/v1",
    f"bad key wp_{SECRET}",
    f"prefixwp_{SECRET}",
    f"Authorization: Bearer {SECRET}.{SECRET}",
    f"authorization: basic {SECRET}==",
    f"'authorization': 'Bearer {SECRET}'",
    f"x-api-key: {SECRET}",
    f"('x-api-key', '{SECRET}')",
    f'"api_key": "{SECRET}"',
    f"apikey={SECRET}&x=1",
    f"password={SECRET}",
    f"x-waypost-credential: {SECRET}",
    f"Cannot connect to host {SECRET}.node.example.org:443 ssl:default [Name or service not known]",
    f"line one\nhttps://eth.example.org/{SECRET}\nline three",
    f"\u00fc https://eth.example.org/{SECRET}\u00fc",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text: str) -> None:
    assert SECRET not in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "getBalance on ethereum took 3 ms",
        "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
        "endpoint alpha answered 503",
        "POST /v1",
        "waypost.v1.AccountService/GetBalance",
        "waypost/v1/account.proto",
        "12:30:45 a/b c:d",
        "the key was revoked",
        "ratio 3/4, version v1",
    ],
)
def test_harmless_texts_are_kept(text: str) -> None:
    assert redact_text(text) == text


def test_what_is_taken_out_is_named() -> None:
    assert redact_text(f"GET https://a.example.org/{SECRET} failed") == "GET <url> failed"
    assert redact_text(f"POST /{SECRET}/v1 HTTP/1.1") == "POST /<key>/v1 HTTP/1.1"
    assert redact_text(f"key {KEY} is unknown") == "key <key> is unknown"
    assert redact_text("Bearer abc.def") == "Bearer <key>"


class Odd:
    def __str__(self) -> str:
        raise RuntimeError(SECRET)


class Speaking:
    def __str__(self) -> str:
        return f"node at https://eth.example.org/{SECRET}"


VALUES: list[Any] = [
    {"url": f"https://eth.example.org/{SECRET}"},
    {f"https://eth.example.org/{SECRET}": 1},
    {"a": [{"b": ({"c": f"/{SECRET}/v1"},)}]},
    {"headers": {"X-Api-Key": SECRET, "Authorization": SECRET}},
    {"api_key": SECRET, "credential": SECRET, "password": SECRET, "token": SECRET},
    (("x-api-key", SECRET), ("authorization", SECRET)),
    [("x-waypost-principal", SECRET.encode())],
    {f"wp_{SECRET}", "x"},
    f"https://eth.example.org/{SECRET}".encode(),
    bytearray(f"wp_{SECRET}".encode()),
    URL(f"https://eth.example.org/{SECRET}"),
    ValueError(f"https://eth.example.org/{SECRET}"),
    Odd(),
    Speaking(),
    {"deep": [[[[[[[[[[[[SECRET]]]]]]]]]]]]},
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values(value: Any) -> None:
    assert SECRET not in str(redact(value))


def test_plain_values_keep_their_types() -> None:
    value = {"n": 1, "f": 0.5, "b": True, "none": None, "list": ["x", 2]}
    assert redact(value) == value
    assert redact_member("limit", "300") == "300"


async def test_exceptions_of_the_http_client() -> None:
    """Real failures, with the texts that aiohttp gives them."""
    host = f"{SECRET}.invalid"
    failures: list[BaseException] = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        for url in (
            f"http://127.0.0.1:9/{SECRET}",
            f"http://{host}/rpc/{SECRET}",
            f"ftp://node/{SECRET}",
            f"http://[::1/{SECRET}",
            f"http:///{SECRET}",
        ):
            with pytest.raises((aiohttp.ClientError, ValueError, OSError)) as caught:
                await session.post(url)
            failures.append(caught.value)
    info = aiohttp.RequestInfo(URL(f"https://node/{SECRET}"), "POST", {}, URL(f"https://node/{SECRET}"))  # type: ignore[arg-type]
    failures.append(aiohttp.ClientResponseError(info, (), status=500, message=f"see https://node/{SECRET}"))
    failures.append(aiohttp.ContentTypeError(info, (), message=f"https://node/{SECRET}"))
    for failure in failures:
        assert SECRET.lower() not in redact_text(str(failure)).lower()
        assert SECRET.lower() not in redact_text(repr(failure)).lower()
        assert SECRET.lower() not in str(redact(failure)).lower()


TOKEN = st.text(alphabet="ABCDEFGHJKLMNPQRSTUVWXYZ23456789_-", min_size=12, max_size=60)


@given(before=st.text(max_size=20), token=TOKEN, after=st.sampled_from(["", " ", "\n", '"', "'", ">", "?a=b"]))
def test_no_url_or_key_survives_whatever_is_around(before: str, token: str, after: str) -> None:
    for text in (f"https://node.example.org/{token}", f" /{token}/v1", f" wp_{token}", f" Bearer {token}"):
        assert token not in redact_text(f"{before}{text}{after}").replace(before, "", 1)


@given(st.text())
def test_redaction_is_stable(text: str) -> None:
    assert redact_text(redact_text(text)) == redact_text(text)


@pytest.mark.slow
def test_a_very_long_text_is_cut_between_words() -> None:
    key = "wp_" + "k" * 43
    for before in range(65_536 - 60, 65_536 + 3):
        reported = redact_text("x" * (before - 1) + " " + key + " " + "y" * 100_000)
        assert "kkk" not in reported
        assert reported.endswith("more characters)")
    assert redact_text("z" * 70_000) == "... (70000 more characters)"
    began = time.process_time()
    redact_text("password " * 4_000_000)
    # To its end it was twelve seconds.
    assert time.process_time() - began < 2
