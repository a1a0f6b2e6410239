"""No body, however odd, yields anything but an answer or the caller's error (issue: no 500, no hang, nothing lost)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.operations import Operation, load_operations
from tests.transcoder.scripted import KEY
from transcoder.fields import fields_of

if TYPE_CHECKING:
    from tests.transcoder.scripted import Face

pytestmark = pytest.mark.slow

ODD = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
FEW = settings(ODD, max_examples=8)

NUMBERS = st.sampled_from(
    [
        *("0", "-0", "-1", "1.0", "1.5", "1e2", "1E400", "-1e-400", "9007199254740991", "9007199254740992"),
        *("18446744073709551616", "1" * 400, "9" * 5000, "-9223372036854775809", "0.1e1", "2147483648"),
        *("NaN", "Infinity", "01", "+1", "1.", ".5", "0x10", "1_000"),
    ]
)
STRINGS = st.sampled_from(
    [
        *('""', '"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\q"', '"a', '"\x7f"', '"é"'),
        *('"ethereum"', '"0x"', '"latest"', '"1,,2"', '","', '":"', '"a:b:c:d"', '"ethereum:1"', '"null"', '"true"'),
        *('"123"', '"-5"', '"1e3"', '" 7 "', '"٣"', '"' + "9" * 5000 + '"', '"' + "x" * 5000 + '"'),
        *('"2026-02-30T00:00:00Z"', '"2026-01-01"'),
    ]
) | st.text(max_size=8).map(json.dumps)  # fmt: skip
WORDS = st.sampled_from(["null", "true", "false", "nul", "", "undefined"])


def _objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    # Pairs, not a dict: names may repeat.
    return st.lists(st.tuples(STRINGS, inner), max_size=4).map(
        lambda pairs: "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}"
    )


VALUES: st.SearchStrategy[str] = st.recursive(
    NUMBERS | STRINGS | WORDS,
    lambda inner: st.lists(inner, max_size=4).map(lambda items: "[" + ",".join(items) + "]") | _objects(inner),
    max_leaves=8,
)


async def check(face: Face, body: bytes, codes: frozenset[int]) -> Any:
    """Post a body; every answer must be a result or an error with one of the codes."""
    async with face.session.post(f"{face.base}/{KEY}/v1", data=body) as response:
        raw = await response.read()
        assert response.status in {200, 204}, (response.status, raw)
    if not raw:
        return None
    answers = json.loads(raw)
    for answer in answers if isinstance(answers, list) else [answers]:
        assert answer["jsonrpc"] == "2.0"
        if "error" in answer:
            assert answer["error"]["code"] in codes, answer
            assert answer["error"]["data"]["reason"] != "INTERNAL"
        else:
            assert "result" in answer
    return answers


@ODD
@given(body=st.binary(max_size=200))
async def test_any_bytes(shared_face: Face, body: bytes) -> None:
    await check(shared_face, body, frozenset({400, 404}))


@ODD
@given(text=VALUES)
async def test_any_json_like_text(shared_face: Face, text: str) -> None:
    await check(shared_face, text.encode("utf-8", "surrogatepass"), frozenset({400, 404}))


@ODD
@given(members=st.dictionaries(st.sampled_from(["jsonrpc", "method", "params", "id"]), VALUES), valid=st.booleans())
async def test_any_envelope(shared_face: Face, members: dict[str, str], valid: bool) -> None:
    if valid:
        members = {"jsonrpc": '"2.0"', "method": '"getHealth"'} | members
    text = "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"
    await check(shared_face, text.encode("utf-8", "surrogatepass"), frozenset({400, 404}))


@pytest.mark.parametrize("operation", load_operations(), ids=lambda operation: operation.name)
@FEW
@given(data=st.data())
async def test_any_params(shared_face: Face, operation: Operation, data: st.DataObject) -> None:
    names = [field.json for field in fields_of(operation.request.DESCRIPTOR)]
    named = [json.dumps(name) for name in names] + ['"other"', '"chain"']
    members = data.draw(st.lists(st.tuples(st.sampled_from(named), VALUES), max_size=6))
    text = "{" + ",".join(f"{name}:{value}" for name, value in members) + "}"
    params = data.draw(st.just(text) | VALUES)
    method = operation.name.replace("*", "app_deployment_call_name")
    body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
    await check(shared_face, body.encode("utf-8", "surrogatepass"), frozenset({400}))


@FEW
@given(depth=st.integers(1, 60_000), kind=st.sampled_from(["[", '{"a":', '[{"a":[']), closed=st.booleans())
async def test_any_depth(shared_face: Face, depth: int, kind: str, closed: bool) -> None:
    depth = min(depth, 60_000 // len(kind) // 2)
    ending = "".join({"[": "]", "{": "}"}[bracket] for bracket in reversed(kind) if bracket in "[{")
    text = kind * depth + ("1" + ending * depth if closed else "")
    for body in (text, f'{{"jsonrpc":"2.0","id":1,"method":"getHealth","params":{text}}}'):
        await check(shared_face, body.encode(), frozenset({400}))


async def test_a_wide_body_is_no_deep_body(shared_face: Face) -> None:
    text = "[" + ",".join(['{"a":[]}'] * 5000) + "]"
    body = f'{{"jsonrpc":"2.0","id":1,"method":"svc_x","params":{{"args":{text}}}}}'
    answer = await check(shared_face, body.encode(), frozenset())
    assert "result" in answer
