"""The operations of the public surface, read from the generated descriptors.

Everything that needs to know which operations exist (the transcoder's index, the server's stages, OpenRPC, the
README's table, the command line) iterates `load_operations()`; nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import waypost_internal
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message_factory import GetMessageClass
from waypost import v1
from waypost.options.v1 import options_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import EnumValueDescriptor, FieldDescriptor, FileDescriptor, MethodDescriptor
    from google.protobuf.message import Message


def read_file_set() -> FileDescriptorSet:
    """Return every .proto file with source comments and JSON names, imports included, dependencies first.

    Raises FileNotFoundError without generated/descriptors.binpb.
    """
    package = next(iter(waypost_internal.__path__))
    return FileDescriptorSet.FromString((Path(package).parent / "descriptors.binpb").read_bytes())


DEFAULT_DEADLINE_MS = 15_000

# protoc's own stubs type extensions as plain field descriptors, which the message stubs do not accept as keys.
_OPERATION: Any = options_pb2.operation
_MEMBER: Any = options_pb2.member
_LITERAL: Any = options_pb2.literal


@dataclass(frozen=True, eq=False)
class Operation:
    """One rpc of the public surface with its options resolved.

    `response` is one event where the rpc is a stream. `families`, `available` are lower-case words (`evm`, `cosmos`,
    `chainless`); `chains` holds the slugs to which the contract narrows the operation, empty for all chains of its
    families. `deadline` is in seconds.
    """

    name: str
    aliases: tuple[str, ...]
    path: str
    service: str
    method: MethodDescriptor
    request: type[Message]
    response: type[Message]
    options: options_pb2.Operation
    families: frozenset[str]
    available: frozenset[str]
    chains: tuple[str, ...]
    cost: int
    deadline: float

    @property
    def takes_items(self) -> bool:
        """Whether the request is a list of items (`getBlockByNumber` and the like)."""
        return bool(self.options.params == options_pb2.PARAMS_SHAPE_ITEMS)

    @property
    def is_stream(self) -> bool:
        """Whether it is subscribed to and sends events (`watchBlocks` and the like)."""
        return bool(self.method.server_streaming)

    @property
    def stands_for_many(self) -> bool:
        """Whether the operation answers every name with its prefix (`svc_*`)."""
        return self.name.endswith("*")


LATEST_BLOCK = -1
"""The newest block, in fields of FORMAT_BLOCK and FORMAT_HEX_BLOCK."""


def member(field: FieldDescriptor) -> options_pb2.Member:
    """Return the field's `Member` options; an empty message where it has none."""
    options: options_pb2.Member = field.GetOptions().Extensions[_MEMBER]
    return options


def literal(value: EnumValueDescriptor) -> options_pb2.Literal:
    """Return how the enum value is written in JSON; an empty message where it has no option."""
    options: options_pb2.Literal = value.GetOptions().Extensions[_LITERAL]
    return options


def lower_camel(name: str) -> str:
    """Return an rpc's name as JSON-RPC writes it: `GetBalance` becomes `getBalance`."""
    return name[:1].lower() + name[1:]


def family_word(number: int) -> str:
    """Return the lower-case word of a `Family` number: `evm`, `cosmos`, `chainless`."""
    return options_pb2.Family.Name(number).removeprefix("FAMILY_").lower()


def public_files() -> list[FileDescriptor]:
    """Return the file descriptors of package `waypost.v1`, sorted by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(v1.__path__) if module.name.endswith("_pb2"))
    return [importlib.import_module(f"waypost.v1.{name}").DESCRIPTOR for name in names]


def cost_of(path: str) -> int:
    """Return what one call of an rpc costs by its option, 1 without one; `path` is `/package.Service/Method`.

    Raises KeyError for an rpc that no imported module describes.
    """
    service, _, name = path.strip("/").partition("/")
    pool = descriptor_pool.Default()  # type: ignore[no-untyped-call]
    method = pool.FindServiceByName(service).methods_by_name[name]
    options: options_pb2.Operation = method.GetOptions().Extensions[_OPERATION]
    return options.cost or 1


@cache
def load_operations() -> tuple[Operation, ...]:
    """Return every unary rpc of `waypost.v1` that carries the `operation` option, in file and declaration order."""
    return tuple(_operation(method) for method in _methods() if not method.server_streaming)


@cache
def load_watches() -> tuple[Operation, ...]:
    """Return every streaming rpc of `waypost.v1` that carries the `operation` option, in declaration order.

    They are not called but subscribed to: one response of theirs is one event.
    """
    return tuple(_operation(method) for method in _methods() if method.server_streaming)


def _methods() -> Iterator[MethodDescriptor]:
    for file in public_files():
        for service in file.services_by_name.values():
            for method in service.methods:
                if method.GetOptions().HasExtension(_OPERATION):
                    yield method


def _operation(method: MethodDescriptor) -> Operation:
    options: options_pb2.Operation = method.GetOptions().Extensions[_OPERATION]
    return Operation(
        name=options.name or lower_camel(method.name),
        aliases=tuple(options.aliases),
        path=f"/{method.containing_service.full_name}/{method.name}",
        service=method.containing_service.full_name,
        method=method,
        request=GetMessageClass(method.input_type),
        response=GetMessageClass(method.output_type),
        options=options,
        families=frozenset(map(family_word, options.families)),
        available=frozenset(map(family_word, options.available)),
        chains=tuple(options.chains),
        cost=options.cost or 1,
        deadline=(options.deadline_ms or DEFAULT_DEADLINE_MS) / 1000,
    )
