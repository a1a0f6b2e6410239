"""Whether this build answers the operation, and for the chains asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waypost.options.v1 import options_pb2

from runtime.operations import member
from server.chains.registry import advise_chain
from server.errors import ChainUnknown, ChainUnsupported, NotAvailable
from server.rpc.pipeline.call import Stage
from server.rpc.pipeline.formats import is_repeated, item_root, json_name, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, NoReturn

    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.message import Message

    from runtime.operations import Operation
    from server.errors import GatewayError
    from server.rpc.pipeline.call import Check, Method, RequestState

    Slugs = Callable[[Any, str], Iterator[tuple[str, str]]]

CHAINLESS = "chainless"
# Lists longer than this are refused by validation; what stands beyond need not be looked at.
_LONGEST_LIST = 1000


class Availability(Stage):
    """Refuses what the contract or this build lacks, naming what there is instead.

    `families` maps every chain slug to its family word.
    """

    def __init__(self, families: Mapping[str, str]) -> None:
        self._families = families

    def check(self, method: Method) -> Check | None:
        """Return what lets pass requests for the chains that have the operation."""
        operation = method.operation
        if operation is None:
            return None
        if not operation.available:
            return _never(operation)
        readers = slug_readers(operation.method.input_type)
        if not readers:
            return None
        rule = ChainRule(operation, self._families)
        plain = [field for field in operation.method.input_type.fields if _is_slug(field) and not is_repeated(field)]
        if plain and len(readers) == 1:
            return _one_chain(plain[0], rule)
        root = item_root(operation)

        def select(request: Message, state: RequestState) -> None:
            for read in readers:
                for path, slug in read(request, root):
                    if slug not in rule.answered:
                        raise rule.refusal(path, slug)
                    if not state.chain:
                        state.chain = slug

        return select


class ChainRule:
    """Which chains one operation answers for."""

    def __init__(self, operation: Operation, families: Mapping[str, str]) -> None:
        self._operation = operation
        self._families = families
        needs_chain = operation.families - {CHAINLESS}
        # An operation of no family takes a chain as a filter only: every known one will do.
        narrowed = [slug for slug, family in families.items() if not needs_chain or family in needs_chain]
        self._have = [slug for slug in narrowed if not operation.chains or slug in operation.chains]
        self.answered = frozenset(
            slug for slug in self._have if not needs_chain or families[slug] in operation.available
        )

    def refusal(self, path: str, slug: str) -> GatewayError:
        """Return why the operation does not answer for a chain: ChainUnknown, ChainUnsupported or NotAvailable."""
        # `svc_*` is no name that callers know.
        name = "this method" if self._operation.stands_for_many else self._operation.name
        if slug not in self._families:
            advice = advise_chain(slug, self._families)
            return ChainUnknown(f"no chain has the slug {shown(slug)}; {advice}", field=path)
        if slug not in self._have:
            return ChainUnsupported(f"{name} does not exist on {slug}; it does on: {', '.join(self._have)}", field=path)
        answered = [other for other in self._have if other in self.answered]
        return NotAvailable(f"{name} is not available on {slug} yet; it is on: {', '.join(answered)}", field=path)


def _one_chain(field: FieldDescriptor, rule: ChainRule) -> Check:
    """Return the check of requests that name one chain, in a field of their own."""
    name, shown_name, has_presence, answered = field.name, json_name(field), field.has_presence, rule.answered

    def select(request: Any, state: RequestState) -> None:
        slug = getattr(request, name)
        if slug in answered:
            state.chain = slug
        # An empty filter is none that keeps everything.
        elif request.HasField(name) if has_presence else slug:
            raise rule.refusal(shown_name, slug)

    return select


def _never(operation: Operation) -> Check:
    def refuse(request: Any, state: RequestState) -> NoReturn:
        raise NotAvailable(f"{operation.name} is part of the contract but not available yet")

    return refuse


def slug_readers(message: Descriptor) -> list[Slugs]:
    """Return functions that list the (path, slug) pairs that a request of the type names; absent ones are left out."""
    readers: list[Slugs] = []
    for field in message.fields:
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            nested = slug_readers(field.message_type)
            if nested:
                readers.append(_nested(field, nested))
        elif _is_slug(field):
            readers.append(_list(field) if is_repeated(field) else _single(field))
    return readers


def _is_slug(field: FieldDescriptor) -> bool:
    return field.message_type is None and member(field).format == options_pb2.FORMAT_CHAIN


def _single(field: FieldDescriptor) -> Slugs:
    name, shown_name, has_presence = field.name, json_name(field), field.has_presence

    def read(message: Any, root: str) -> Iterator[tuple[str, str]]:
        slug = getattr(message, name)
        # An empty filter is none that keeps everything.
        if message.HasField(name) if has_presence else slug:
            yield shown_name, slug

    return read


def _list(field: FieldDescriptor) -> Slugs:
    name, shown_name = field.name, json_name(field)

    def read(message: Any, root: str) -> Iterator[tuple[str, str]]:
        for position, slug in enumerate(getattr(message, name)[:_LONGEST_LIST]):
            yield f"{shown_name}[{position}]", slug

    return read


def _nested(field: FieldDescriptor, readers: list[Slugs]) -> Slugs:
    name, shown_name = field.name, json_name(field)
    listed = is_repeated(field)

    def read(message: Any, root: str) -> Iterator[tuple[str, str]]:
        if listed:
            children = [
                (f"{root or shown_name}[{i}]", child) for i, child in enumerate(getattr(message, name)[:_LONGEST_LIST])
            ]
        else:
            children = [(shown_name, getattr(message, name))] if message.HasField(name) else []
        for prefix, child in children:
            for inner in readers:
                for path, slug in inner(child, ""):
                    yield f"{prefix}.{path}", slug

    return read
