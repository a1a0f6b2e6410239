"""Events as JSON: rendered once for all who read them, within bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.operations import load_watches
from tests.each import each
from tests.transcoder.events import block
from transcoder.watches import Watches

pytestmark = pytest.mark.slow


@each(load_watches(), name=lambda watch: watch.name)
def test_every_watch_prints_its_events(watch: Any) -> None:
    watches = Watches(load_watches(), None)
    found = watches.find(watch.name)
    event = watches.events.of(found, watch.response().SerializeToString())
    assert isinstance(json.loads(event.text), dict)
    assert (event.kind, event.cursor) == ("value", "")


def test_an_event_is_printed_once() -> None:
    watches = Watches(load_watches(), None)
    blocks, logs = watches.find("watchBlocks"), watches.find("watchLogs")
    payload = block(7).SerializeToString()
    first = watches.events.of(blocks, payload)
    assert (first.kind, first.cursor, json.loads(first.text)["blockNumber"]) == ("ADDED", "c7", 7)
    assert watches.events.of(blocks, bytes(bytearray(payload))) is first
    assert watches.events.count == 1
    # The same bytes mean another thing to another watch.
    assert watches.events.of(logs, payload) is not first
    assert watches.events.count == 2


def test_what_is_kept_is_bounded() -> None:
    watches = Watches(load_watches(), None)
    blocks = watches.find("watchBlocks")
    payloads = [block(number, extra=100_000).SerializeToString() for number in range(40)]
    for payload in payloads:
        watches.events.of(blocks, payload)
    assert watches.events.count == 40
    watches.events.of(blocks, payloads[-1])
    assert watches.events.count == 40
    watches.events.of(blocks, payloads[0])
    assert watches.events.count == 41
    # One alone may be larger than all that is kept.
    huge = block(1, extra=5 << 20).SerializeToString()
    assert watches.events.of(blocks, huge).cursor == "c1"
    watches.events.of(blocks, huge)
    assert watches.events.count == 43
