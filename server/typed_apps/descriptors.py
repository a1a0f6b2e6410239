"""Layout -> descriptor, from which messages are made while the gateway runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, MethodOptions

from server.typed_apps.layout import Message

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto

    from server.typed_apps.layout import AppFile, Field

_TYPES = {
    name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}")
    for name in ("string", "bytes", "bool", "int32", "int64", "uint32", "uint64")
}


def file_descriptor(file: AppFile) -> FileDescriptorProto:
    """Return the file's descriptor; what `protoc` makes of its text, comments and language options aside."""
    proto = FileDescriptorProto(name=file.path, package=file.package, syntax="proto3")
    service = proto.service.add(name=file.service)
    for rpc in file.rpcs:
        for message in (rpc.request, rpc.response):
            _fill(proto.message_type.add(), message, f".{file.package}")
        service.method.add(
            name=rpc.name,
            input_type=f".{file.package}.{rpc.request.name}",
            output_type=f".{file.package}.{rpc.response.name}",
            options=MethodOptions(idempotency_level=MethodOptions.NO_SIDE_EFFECTS),
        )
    return proto


def _fill(proto: DescriptorProto, message: Message, scope: str) -> None:
    proto.name = message.name
    scope = f"{scope}.{message.name}"
    for nested in message.nested:
        _fill(proto.nested_type.add(), nested, scope)
    for field in message.fields:
        _add_field(proto, field, scope)


def _add_field(proto: DescriptorProto, field: Field, scope: str) -> None:
    repeated = field.label == "repeated"
    added = proto.field.add(
        name=field.name,
        number=field.number,
        label=FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL,
        json_name=field.json or _camel(field.name),
    )
    if isinstance(field.type, Message):
        added.type = FieldDescriptorProto.TYPE_MESSAGE
        added.type_name = f"{scope}.{field.type.name}"
    else:
        added.type = _TYPES[field.type]
    if field.label == "optional":
        # Presence of a scalar is a oneof of its own in descriptors (protobuf, "Implementing proto3 presence").
        added.proto3_optional = True
        added.oneof_index = len(proto.oneof_decl)
        proto.oneof_decl.add(name=f"_{field.name}")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)
