"""Which fields JSON has of a message."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from waypost.options.v1 import options_pb2

from transcoder.errors import Failure
from transcoder.fields import fields_of
from transcoder.params import message_reader
from transcoder.render import members_renderer
from transcoder.schemas import Schemas

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

_MEMBER: Any = options_pb2.member


@cache
def page() -> Descriptor:
    """Return a message of a text that both faces have and a number that gRPC alone has."""
    file = FileDescriptorProto(name="fields_test.proto", package="fields.test", syntax="proto3")
    message = file.message_type.add(name="Page")
    message.field.add(name="cursor", number=1, type=FieldDescriptorProto.TYPE_STRING, json_name="cursor")
    size = message.field.add(name="page_size", number=2, type=FieldDescriptorProto.TYPE_INT32, json_name="pageSize")
    size.options.Extensions[_MEMBER].grpc_only = True
    pool: Any = DescriptorPool()  # type: ignore[no-untyped-call]
    pool.Add(file)
    found: Descriptor = pool.FindMessageTypeByName("fields.test.Page")
    return found


def test_a_field_of_grpc_alone_is_none_of_json() -> None:
    assert [field.name for field in fields_of(page())] == ["cursor"]
    assert Schemas().item(page())["properties"].keys() == {"cursor"}
    answer: Any = GetMessageClass(page())(cursor="7", page_size=5)
    assert members_renderer(page())(answer) == {"cursor": "7"}


@pytest.mark.parametrize("name", ["pageSize", "page_size", "pageSiz"])
def test_a_field_of_grpc_alone_is_unknown_in_json_and_not_suggested(name: str) -> None:
    with pytest.raises(Failure) as refused:
        message_reader(page())({"cursor": "7", name: 5}, "")
    assert (refused.value.code, refused.value.reason, refused.value.field) == (400, "UNKNOWN_PARAMETER", name)
    assert "pageSize" not in refused.value.message.replace(f'"{name}"', "")
