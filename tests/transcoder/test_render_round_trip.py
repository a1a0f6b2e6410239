"""Message -> JSON -> message loses nothing, for every message type of the public package."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.operations import Operation, load_operations
from tests.each import each
from tests.examples import examples
from tests.transcoder.messages import all_messages, messages
from tests.transcoder.reading import read
from transcoder.fields import holds_native
from transcoder.params import message_reader
from transcoder.render import members_renderer, result_renderer

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

FEW = settings(
    max_examples=examples(8),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
REQUESTS = [
    message for message in all_messages() if message.name.endswith(("Request", "Item")) and "Request" in message.name
]


@each(all_messages(), name=attrgetter("name"))
@FEW
@given(data=st.data())
def test_every_message_survives(message: Descriptor, data: st.DataObject) -> None:
    original = data.draw(messages(message))
    text = orjson.dumps(members_renderer(message)(original))
    json.loads(text)
    assert read(message, text, original) == original


@each(REQUESTS, name=attrgetter("name"))
@FEW
@given(data=st.data())
def test_every_request_is_read_back(message: Descriptor, data: st.DataObject) -> None:
    original = data.draw(messages(message, wide=False))
    text = orjson.dumps(members_renderer(message)(original))
    shape = dict[str, msgspec.Raw] if holds_native(message) else dict
    assert message_reader(message)(msgspec.json.decode(text, type=shape), "") == original


@each(load_operations(), name=attrgetter("name"))
@FEW
@given(data=st.data())
def test_every_result_is_one_member_data(operation: Operation, data: st.DataObject) -> None:
    response = data.draw(messages(operation.response.DESCRIPTOR))
    printed = json.loads(result_renderer(operation.response.DESCRIPTOR, operation.options.result)(response))
    assert list(printed) == ["data"]
