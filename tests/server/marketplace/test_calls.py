"""What calls of published methods ask of the chain and answer, over both faces, is what tests/golden records.

A case's `both` is the outcome of both faces, `json_face` and `typed_face` where they differ: the answer's message in
hex, or the error's class, field and text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.marketplace.scripted_calls import Faces, expand

if TYPE_CHECKING:
    from server.marketplace.catalogue import Catalogue

CASES = json.loads((Path(__file__).parents[2] / "golden" / "published_calls.json").read_text())


@pytest.fixture(scope="module")
def faces(odd_catalogue: Catalogue) -> Faces:
    return Faces(odd_catalogue)


def expected(case: dict[str, Any], face: str) -> dict[str, Any]:
    outcome: dict[str, Any] = case.get("both") or case[face]
    return {"asked": case["asked"], **outcome}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
async def test_json_calls(case: dict[str, Any], faces: Faces) -> None:
    outcome = await faces.plain(case["method"], expand(case["params"]), expand(case["node"]))
    assert outcome == expected(case, "json_face")


TYPED = [case for case in CASES if case["typed"] is not None]


@pytest.mark.parametrize("case", TYPED, ids=[case["name"] for case in TYPED])
async def test_typed_calls(case: dict[str, Any], faces: Faces) -> None:
    outcome = await faces.typed(case["path"], expand(case["typed"]), expand(case["node"]))
    assert outcome == expected(case, "typed_face")


async def test_a_request_that_is_too_long_is_refused_before_it_is_read(faces: Faces) -> None:
    outcome = await faces.typed("/waypost_apps.erc20.v1.Erc20Service/Erc20apiCallBalanceOf", "00" * 131_073, {})
    assert outcome["error"] == ["InvalidArgument", "args", "the request has 131073 bytes; write at most 131072"]
