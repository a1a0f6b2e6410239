"""Metadata as callers in process receive it."""

from __future__ import annotations

import pytest
from grpc.aio import Metadata

from server.inprocess.context import ReceivedMetadata, check_types

ENTRIES = {
    "none": (),
    "as both faces send it": (("x-request-id", "1"), ("x-waypost-cost", "1"), ("x-waypost-cache", "hit")),
    "one key twice": (("a", "1"), ("a", "2"), ("b", "3")),
    "one key apart": (("a", "1"), ("b", "3"), ("a", "2")),
    "bytes": (("a", "1"), ("b-bin", b"\x00\xff")),
}


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
def test_received_metadata_is_what_grpc_hands_out(entries):
    grpcs = Metadata(*entries)
    assert tuple(ReceivedMetadata(entries)) == tuple(grpcs)
    received = ReceivedMetadata(entries)
    assert isinstance(received, Metadata)
    assert received == grpcs
    assert grpcs == received
    assert len(received) == len(grpcs)
    assert bool(received) == bool(grpcs)
    assert repr(tuple(received)) == repr(tuple(grpcs))
    assert received.get("a") == grpcs.get("a")
    assert received.get_all("a") == grpcs.get_all("a")
    assert tuple(received.keys()) == tuple(grpcs.keys())
    more = (("z", "9"),)
    assert received + more == grpcs + more
    assert received + grpcs == grpcs + grpcs


def test_received_metadata_that_is_changed_is_read_as_changed():
    received = ReceivedMetadata((("a", "1"),))
    assert tuple(received) == (("a", "1"),)
    received.add("b", "2")
    received["a"] = "3"
    assert tuple(received) == (("a", "3"), ("b", "2"))
    del received["a"]
    assert tuple(received) == (("b", "2"),)


@pytest.mark.parametrize(
    "wrong",
    [{"a": "1"}, 5, [["a", "1"]], [("a",)], [("a", "1", "2")], [("a", 1)], [(1, "a")], [("a", "1"), ("b", None)]],
)
def test_metadata_of_other_types_is_refused(wrong):
    with pytest.raises(TypeError, match="trailing metadata"):
        check_types(wrong)


class Text(str):
    """A text of a class of its own."""


def test_metadata_of_the_right_types_passes():
    check_types([("a", "1"), (Text("b"), Text("2")), ("c-bin", b"3")])
    check_types(Metadata(("a", "1")))
