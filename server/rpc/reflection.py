"""Server reflection: what the services look like, with their comments, under the protocol's two names.

Its released name is `grpc.reflection.v1`; clients made before that know `v1alpha` alone. The messages are the same.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf import descriptor_pb2
from google.rpc import error_details_pb2
from grpc import StatusCode
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from waypost.v1 import batch_pb2

from runtime.operations import read_file_set

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

    from google.protobuf.descriptor import FileDescriptor

    from runtime.operations import Operation
    from server.marketplace.typed import TypedServices

    Files = Mapping[str, bytes]

_ALPHA = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].full_name
_RELEASED = "grpc.reflection.v1.ServerReflection"
_RELEASED_FILE = "grpc/reflection/v1/reflection.proto"
REFLECTION = (_RELEASED, _ALPHA)
"""Full names of the service."""
HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
# Carries calls of the operations; it has none of its own.
_BATCH = batch_pb2.DESCRIPTOR.services_by_name["BatchService"].full_name
# Nearly every answer holds it, and its comments, which every client has, are longer than all else in most answers.
_WITHOUT_COMMENTS = frozenset({"google/protobuf/descriptor.proto"})


def working_services(operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the full names of the services of which this build answers at least one rpc, in order of first mention."""
    return (*dict.fromkeys(operation.service for operation in operations if operation.available), _BATCH)


class Reflection(reflection_pb2_grpc.ServerReflectionServicer):  # type: ignore[misc]  # grpc has no types
    """Answers about the services named, of `files`: serialised descriptors by name, dependencies first.

    A file comes with those that it imports, as far as they were not sent on the same stream before.
    """

    def __init__(self, services: Iterable[str], files: Files) -> None:
        self._services = tuple(sorted(services))
        self._files = files

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """Return the handlers by path, of both names."""
        handler = grpc.stream_stream_rpc_method_handler(
            self.ServerReflectionInfo,
            reflection_pb2.ServerReflectionRequest.FromString,
            reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        return {f"/{service}/ServerReflectionInfo": handler for service in REFLECTION}

    async def ServerReflectionInfo(
        self, requests: AsyncIterator[reflection_pb2.ServerReflectionRequest], context: Any
    ) -> AsyncIterator[reflection_pb2.ServerReflectionResponse]:
        """Yield an answer to each request; what is not there is an error in its place."""
        sent: set[str] = set()
        async for request in requests:
            answer = reflection_pb2.ServerReflectionResponse(valid_host=request.host, original_request=request)
            self._answer(request, answer, sent)
            yield answer

    def _answer(self, request: Any, answer: Any, sent: set[str]) -> None:
        kind, found = request.WhichOneof("message_request"), None
        if kind == "list_services":
            answer.list_services_response.service.extend(
                reflection_pb2.ServiceResponse(name=name) for name in self._services
            )
            return
        if kind == "all_extension_numbers_of_type":
            name = request.all_extension_numbers_of_type
            if name in self._index.places:
                numbers = sorted(number for extended, number in self._index.extensions if extended == name)
                answer.all_extension_numbers_response.base_type_name = name
                answer.all_extension_numbers_response.extension_number.extend(numbers)
                return
        elif kind == "file_by_filename":
            found = request.file_by_filename if request.file_by_filename in self._files else None
        elif kind == "file_containing_symbol":
            found = self._index.find(request.file_containing_symbol)
        elif kind == "file_containing_extension":
            wanted = request.file_containing_extension
            found = self._index.extensions.get((wanted.containing_type, wanted.extension_number))
        else:
            answer.error_response.error_code = StatusCode.INVALID_ARGUMENT.value[0]
            answer.error_response.error_message = "the request asks for nothing; set one of its fields"
            return
        if found is None:
            answer.error_response.error_code = StatusCode.NOT_FOUND.value[0]
            answer.error_response.error_message = "there is no such thing here; list the services to see what there is"
            return
        names = [name for name in self._index.with_imports(found) if name == found or name not in sent]
        sent.update(names)
        answer.file_descriptor_response.file_descriptor_proto.extend(self._files[name] for name in names)

    @cached_property
    def _index(self) -> _Index:
        # Made when the first client asks: a few milliseconds that most processes never spend.
        return _Index(self._files)


class _Index:
    """Where everything is declared: file names by full names of types and services, and by extended type and number."""

    def __init__(self, files: Files) -> None:
        self.places: dict[str, str] = {}
        self.extensions: dict[tuple[str, int], str] = {}
        self._files = files
        self._imports: dict[str, Sequence[str]] = {}
        for name, serialised in files.items():
            file = descriptor_pb2.FileDescriptorProto.FromString(serialised)
            self._imports[name] = tuple(file.dependency)
            self.places.update((symbol, name) for symbol, _ in _declared(file))
            for extension in file.extension:
                self.extensions[extension.extendee.lstrip("."), extension.number] = name

    def find(self, symbol: str) -> str | None:
        """Return the file that declares a type, a service, or a member of one: a field, an enum value, an rpc."""
        place = self.places.get(symbol)
        if place is not None:
            return place
        parent, _, name = symbol.rpartition(".")
        place = self.places.get(parent)
        if place is None:
            return None
        file = descriptor_pb2.FileDescriptorProto.FromString(self._files[place])
        members = next((members for declared, members in _declared(file) if declared == parent), ())
        return place if name in members else None

    def with_imports(self, name: str) -> list[str]:
        """Return the file's name and those of all that it imports, itself first."""
        found = [name]
        for one in found:
            found.extend(imported for imported in self._imports[one] if imported not in found)
        return found


def _declared(file: descriptor_pb2.FileDescriptorProto) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the full name of everything that a file declares, with the names of its members."""
    prefix = f"{file.package}." if file.package else ""
    for service in file.service:
        yield prefix + service.name, tuple(method.name for method in service.method)
    for extension in file.extension:
        yield prefix + extension.name, ()
    yield from _types(prefix, file.message_type, file.enum_type)


def _types(prefix: str, messages: Iterable[Any], enums: Iterable[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for enum in enums:
        yield prefix + enum.name, tuple(value.name for value in enum.value)
        # An enum's values are names beside it, as in C++.
        yield from ((prefix + value.name, ()) for value in enum.value)
    for message in messages:
        yield prefix + message.name, tuple(one.name for one in (*message.field, *message.oneof_decl))
        yield from _types(f"{prefix}{message.name}.", message.nested_type, message.enum_type)


def reflection_servicer(operations: Iterable[Operation], typed: TypedServices) -> Reflection:
    """Return the reflection of the working services and the apps' own; nothing internal can be looked up through it."""
    operations = tuple(operations)
    listed = working_services(operations)
    # The generated modules carry neither comments nor JSON names, the committed set does.
    committed = {file.name: file for file in read_file_set().file}
    files: dict[str, bytes] = {}
    served = [one.method.containing_service.file for one in operations if one.service in listed]
    # So that clients can print the details of an error.
    described = (batch_pb2.DESCRIPTOR, health_pb2.DESCRIPTOR, reflection_pb2.DESCRIPTOR, error_details_pb2.DESCRIPTOR)
    for file in (*served, *described):
        _add(file, files, committed)
    files[_RELEASED_FILE] = _serialise(committed[_RELEASED_FILE])
    files.update(typed.files)
    return Reflection((*listed, *typed.names, HEALTH, *REFLECTION), files)


def _add(
    file: FileDescriptor, files: dict[str, bytes], committed: Mapping[str, descriptor_pb2.FileDescriptorProto]
) -> None:
    if file.name in files:
        return
    for dependency in file.dependencies:
        _add(dependency, files, committed)
    proto = committed.get(file.name)
    files[file.name] = file.serialized_pb if proto is None else _serialise(proto)


def _serialise(proto: descriptor_pb2.FileDescriptorProto) -> bytes:
    """Return the file with its comments alone of where things stand in its text."""
    places = proto.source_code_info.location
    kept = [] if proto.name in _WITHOUT_COMMENTS else [place for place in places if _has_comment(place)]
    served = descriptor_pb2.FileDescriptorProto()
    served.CopyFrom(proto)
    served.source_code_info.CopyFrom(descriptor_pb2.SourceCodeInfo(location=kept))
    return bytes(served.SerializeToString())


def _has_comment(place: descriptor_pb2.SourceCodeInfo.Location) -> bool:
    return bool(place.leading_comments or place.trailing_comments or place.leading_detached_comments)
