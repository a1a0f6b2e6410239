"""Paths of the SDK's REST gateway that are passed on to nodes: reads within bounds (`rest_paths.toml`)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from server.chains.capabilities.blocks import PassesPaths
from server.chains.shared.passthrough import SHARED
from server.errors import InvalidArgument, NotFound, NotSupported
from server.upstream.absence import confirmed

if TYPE_CHECKING:
    from server.chains.view import ReadView
    from server.upstream.rest import RestPool

_FIELD = "path"
_TABLE = Path(__file__).with_name("rest_paths.toml")
_SEGMENT, _SEGMENTS = "[A-Za-z0-9._:-]{1,256}", "[A-Za-z0-9._:/-]{1,256}"
_ARGUMENT = re.compile(r"\{(\w+)(=\*\*)?\}")
_DOTS = frozenset({"", ".", ".."})
_PAGE = "pagination"
# The members of a page in both writings, with the most that a number may be.
_PAGE_MEMBERS: dict[str, int | None] = {
    "pagination.key": None,
    "pagination.limit": 100,
    "pagination.offset": 10_000,
    "pagination.count_total": None,
    "pagination.countTotal": None,
    "pagination.reverse": None,
}
_LONGEST_VALUE = 512
_MOST_MEMBERS = 20
_HEIGHT = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Route:
    """One path with arguments: which query members it takes, and how it names what it looks up."""

    name: str
    pattern: re.Pattern[str]
    members: frozenset[str]
    has_pages: bool
    look_up: Literal["hash", "number"] | None


class Asked(NamedTuple):
    """What is sent: the route, the path with its arguments, the query, and the block that it is about where it is."""

    route: Route
    path: str
    query: tuple[tuple[str, str], ...]
    block: int | None


@cache
def routes() -> tuple[Route, ...]:
    """Return what is passed on, paths without arguments first."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["paths"]
    found = [_route(name, options) for name, options in table.items()]
    return tuple(sorted(found, key=lambda route: route.name.count("{")))


def parse_path(text: str) -> Asked:
    """Return what a path with its query, percent-encoded, asks of a node.

    Raises InvalidArgument for what is not passed on, naming what is.
    """
    raw, _, query = text.partition("?")
    try:
        path = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise _refuse("the path is not UTF-8") from None
    # Where a server resolves them, dots lead to other paths.
    is_plain = not _DOTS.intersection(path.split("/")[1:])
    for route in routes() if is_plain else ():
        found = route.pattern.fullmatch(path)
        if found is not None:
            height = found.groupdict().get("height") if route.look_up == "number" else None
            block = int(height) if height and _HEIGHT.fullmatch(height) else None
            return Asked(route, path, _members(query, route), block)
    raise NotSupported(
        "this path is not passed on; those that are: reads of bank, staking, distribution, auth and mint, blocks,"
        " validator sets and transactions by hash (docs/chain-rpc.md)",
        field=_FIELD,
    )


class PathPassage(PassesPaths):
    """The capability `PassesPaths` of one chain."""

    def __init__(self, slug: str, pool: RestPool) -> None:
        self._slug = slug
        self._pool = pool

    async def pass_path(self, path: str, view: ReadView) -> bytes:
        """Return the JSON that a node answers a path with; see `PassesPaths`."""
        asked = parse_path(path)
        if not self._pool.labels:
            message = (
                f"no REST endpoint is configured for {self._slug}; POST the CometBFT calls that are passed on instead"
            )
            raise NotSupported(message, field=_FIELD)
        policy = SHARED
        if asked.route.look_up is not None:
            policy = replace(policy, null_elsewhere=True, min_block=asked.block)
        try:
            reply = await self._pool.get(
                asked.path, asked.query, policy=policy, name=asked.route.name, deadline=view.deadline
            )
        except NotFound as error:
            raise error if asked.route.look_up is None else confirmed(error) from None
        return reply.result


def _route(name: str, options: dict[str, object]) -> Route:
    query = options.get("query", [])
    assert isinstance(query, list)
    pattern, place = "", 0
    for argument in _ARGUMENT.finditer(name):
        inside = _SEGMENTS if argument[2] else _SEGMENT
        pattern += re.escape(name[place : argument.start()]) + f"(?P<{argument[1]}>{inside})"
        place = argument.end()
    look_up = options.get("look_up")
    assert look_up in (None, "hash", "number")
    return Route(
        name,
        re.compile(pattern + re.escape(name[place:])),
        frozenset(query) - {_PAGE},
        _PAGE in query,
        look_up,
    )


def _members(query: str, route: Route) -> tuple[tuple[str, str], ...]:
    """Return the query's members; raises InvalidArgument for those that are not passed on, or beyond their bounds."""
    try:
        members = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_MEMBERS, errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise _refuse(f"the query must be UTF-8, of at most {_MOST_MEMBERS} members") from None
    seen: set[str] = set()
    for name, value in members:
        is_page = route.has_pages and name in _PAGE_MEMBERS
        if not is_page and name not in route.members:
            known = ", ".join(sorted(route.members | (set(_PAGE_MEMBERS) if route.has_pages else set()))) or "none"
            raise _refuse(f"the query member `{name[:64]}` is not passed on here; those that are: {known}")
        # A repeated number could be read as another one than was checked.
        if name in seen and name in _PAGE_MEMBERS:
            raise _refuse(f"`{name}` stands there twice")
        seen.add(name)
        if len(value) > _LONGEST_VALUE:
            raise _refuse(f"`{name}` may have {_LONGEST_VALUE} characters")
        most = _PAGE_MEMBERS.get(name) if is_page else None
        if most is not None and not (_HEIGHT.fullmatch(value) and int(value) <= most):
            raise _refuse(f"`{name}` must be a number of at most {most}; ask for the next page by pagination.key")
    return tuple(members)


def _refuse(why: str) -> InvalidArgument:
    return InvalidArgument(f"{_FIELD}: {why}", field=_FIELD)
