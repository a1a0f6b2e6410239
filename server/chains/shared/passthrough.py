"""Calls of callers' own choice, passed on to nodes if they are reads within bounds.

What a family allows is data (`passthrough.toml` in its folder); the checks are functions by name:

    count   a number, as an integer or as text (unless `text` is false), from `least` (0) to `most`; with `boolean` also
            true and false, with `optional` also nothing
    list    an array of at most `most` elements; it may be missing
    member  the `member` of an object is among `one_of`, or a number as for `count`; with `known` it has no others

Parameters are passed on byte for byte, so what is checked must be read as the node reads it: members of a checked
object that are unknown, or written twice, are refused, because nodes differ in which of two they take.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from runtime.bounds import DEEPEST, nests_too_deeply
from runtime.config_errors import nearest
from server.chains.capabilities.blocks import PassesCalls
from server.errors import HeightMissing, InvalidArgument, NotFound
from server.upstream.absence import ENDPOINTS_ASKED, confirmed
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from server.chains.view import ReadView
    from server.upstream.pool import Pool

MAX_PARAMS_BYTES = 256 * 1024
"""The longest `params` that are passed on."""


CALLERS_OWN = CallPolicy(heavy=True, caller_made=True, joinable=False, quotes=True)
"""An answer and a batch of its own: the caller chose what it costs, and reads the node's answer."""
SHARED = replace(CALLERS_OWN, joinable=True)
"""One answer for all equal calls of one moment."""
BATCHED = replace(SHARED, heavy=False, is_short=True)
"""That, in requests with other short reads."""

# What every parser of a batch reads alike: nothing in it can spoil the batch for its other calls.
_PLAIN = re.compile(rb'(?:"[ !#-\[\]-~]{0,512}"|-?\d{1,15}(?![\d.eE])|true|false|null|[\[\]{}:, \t\r\n])*')
_LONGEST_BATCHED = 4096

Params: TypeAlias = "list[msgspec.Raw] | dict[str, msgspec.Raw]"
"""The parameters of a call, each as the caller wrote it: by position, or by name."""

_CHAINS = Path(__file__).parents[1]
_BLOCK_MEMBER = "block_number"
_MAX_NUMBER = (1 << 63) - 1


class Check(Protocol):
    """Looks at one parameter; raises InvalidArgument (field `params`) or RangeTooLarge."""

    def __call__(self, value: Any, where: str, options: Mapping[str, Any]) -> None:
        """Return if the value may pass; `where` names it, `options` are those of the table."""
        ...


@dataclass(frozen=True, slots=True)
class Method:
    """A method that is passed on: the most parameters it takes, and its checks by position with their options.

    `names` are those of its parameters by position, each with its aliases; none where it takes them by position alone.
    """

    name: str
    most: int
    checks: tuple[tuple[int, str, Mapping[str, Any]], ...]
    names: tuple[tuple[str, ...], ...] | None = None

    def at(self, position: int, params: Params) -> msgspec.Raw | None:
        """Return the parameter that stands there, by whatever name; None where the caller left it out."""
        if isinstance(params, list):
            return params[position] if position < len(params) else None
        return next((params[name] for name in (self.names or ())[position] if name in params), None)


@dataclass(frozen=True, slots=True)
class LookUp:
    """How a method names what it looks up, in its first parameter.

    `empty` is the member of an answer that is null where there is no such thing, instead of the whole answer.
    """

    by: Literal["hash", "number"]
    empty: str | None = None


class AllowList:
    """The methods of one family. Raises KeyError where the table names a check that does not exist."""

    def __init__(self, table: Path, checks: Mapping[str, Check] | None = None) -> None:
        entries = tomllib.loads(table.read_text(encoding="utf-8"))
        self._checks = {"count": check_count, "list": check_list, "member": check_member, **(checks or {})}
        self._methods = {
            name: Method(name, most, tuple(map(_check_of, entries["checks"].get(name, ()))), _names_of(entries, name))
            for name, most in entries["methods"].items()
        }
        for method in self._methods.values():
            for _, check, _ in method.checks:
                self._checks[check]
        self._look_ups = {
            self._methods[name].name: LookUp(**(by if isinstance(by, dict) else {"by": by}))
            for name, by in entries.get("look_ups", {}).items()
        }
        self._short = frozenset(self._methods[name].name for name in entries.get("short", ()))

    async def pass_on(
        self,
        pool: Pool,
        method: str,
        params: Params,
        policy: CallPolicy = CALLERS_OWN,
        *,
        deadline: float | None,
    ) -> bytes:
        """Return the JSON of the node's result to a call that `parse` let through, byte for byte.

        What one endpoint does not have is asked of others before its answer is passed on, where the method looks
        something up by hash or number.

        Raises:
            NotFound: the nodes refuse what they do not have, with how many were asked.
            GatewayError: what the node's error means.
        """
        look_up = self._look_ups.get(method)
        # A mapping where they are named, which encodes as well.
        items: Any = params
        if look_up is None:
            return (await pool.call(method, items, policy, deadline=deadline)).result
        named = self._methods[method].at(0, params) if look_up.by == "number" else None
        block = None if named is None else _number(named)
        policy = _looking_up(policy, block)
        try:
            reply = await pool.call(method, items, policy, deadline=deadline)
        except NotFound as error:
            raise confirmed(error) from None
        first = reply
        while look_up.empty is not None and _is_empty(reply.result, look_up.empty):
            policy = replace(policy, found_invalid=policy.found_invalid | {reply.endpoint})
            if len(policy.found_invalid) == min(ENDPOINTS_ASKED, len(pool.labels)):
                return first.result
            reply = await pool.call(method, items, policy, deadline=deadline)
            if reply.endpoint in policy.found_invalid:
                return first.result
        return reply.result

    def share(self, method: str, params: bytes | None) -> CallPolicy:
        """Return how a call that `parse` let through shares answers and requests with others."""
        plain = params is None or (len(params) <= _LONGEST_BATCHED and _PLAIN.fullmatch(params) is not None)
        return BATCHED if plain and method in self._short else SHARED

    def parse(self, method: str, params: bytes | None) -> Params:
        """Return the parameters to pass on, each as the caller wrote it; by name where it named them.

        Raises:
            InvalidArgument: the method is not passed on, or the parameters are none of its own (see the field).
            RangeTooLarge: they ask for more than is passed on at once.
        """
        known = self._methods.get(method)
        if known is None:
            near = nearest(method, self._methods, likeness=0.8)
            advice = f"; did you mean `{near}`?" if near else ""
            message = f"method: it is not passed on; only reads that leave nothing behind in the node are{advice}"
            raise InvalidArgument(message, field="method")
        items = _items(params, known)
        if len(items) > known.most:
            raise InvalidArgument(f"params: {method} takes {known.most} at most", field="params")
        for position, check, options in known.checks:
            raw = known.at(position, items)
            where = f"params[{position}]" if isinstance(items, list) else f"params.{(known.names or ())[position][0]}"
            self._checks[check](None if raw is None else load_strictly(raw), where, options)
        return items

    def options(self, method: str, check: str) -> Mapping[str, Any]:
        """Return the options of a method's check."""
        return next(options for _, name, options in self._methods[method].checks if name == check)


@cache
def allow_list(family: str) -> AllowList:
    """Return the methods that a family passes on, where it has no checks of its own."""
    return AllowList(_CHAINS / family / "passthrough.toml")


class PassThrough(PassesCalls):
    """The capability `PassesCalls` of one chain.

    `explain` returns why there is no block of a height, where the nodes' refusal alone does not.
    """

    def __init__(
        self,
        pool: Pool,
        allowed: AllowList,
        explain: Callable[[HeightMissing, ReadView], Awaitable[NotFound]] | None = None,
    ) -> None:
        self._pool = pool
        self._allowed = allowed
        self._explain = explain

    async def pass_call(self, method: str, params: bytes | None, view: ReadView, *, is_shared: bool = False) -> bytes:
        """Return the JSON of the node's result, byte for byte; see `PassesCalls`.

        Raises:
            InvalidArgument: the method or its parameters are not passed on (fields `method`, `params`).
            GatewayError: what the node's error means.
        """
        items = self._allowed.parse(method, params)
        policy = self._allowed.share(method, params) if is_shared else CALLERS_OWN
        try:
            return await self._allowed.pass_on(self._pool, method, items, policy, deadline=view.deadline)
        except HeightMissing as error:
            if self._explain is None or is_shared:
                raise
            raise await self._explain(error, view) from None


def refuse(where: str, why: str) -> InvalidArgument:
    """Return the refusal of a parameter."""
    return InvalidArgument(f"{where}: {why}", field="params")


def load_strictly(raw: msgspec.Raw) -> Any:
    """Return the parsed JSON; InvalidArgument for an object that has a member twice, or numbers out of all bounds."""
    try:
        return json.loads(bytes(raw), object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise refuse("params", "the JSON has a member twice, a number of thousands of digits, or is too deep") from None


def check_members(value: Any, where: str, known: Sequence[str]) -> dict[str, Any]:
    """Return the value as an object with the known members alone; refuses anything else."""
    if not isinstance(value, dict):
        raise refuse(where, f"an object with {', '.join(known)} is needed")
    for name in value:
        if name not in known:
            raise refuse(where, f"the member `{name[:64]}` is not passed on; those that are: {', '.join(known)}")
    return value


def check_count(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check a number; see the head of this module."""
    takes_boolean = options.get("boolean", False)
    if (value is None and options.get("optional")) or (isinstance(value, bool) and takes_boolean):
        return
    try:
        number = int(value, 0) if isinstance(value, str) and options.get("text", True) else value
    except ValueError:
        number = None
    least, most = options.get("least", 0), options["most"]
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        span = f"from {least} to {most}" if least else f"up to {most}"
        raise refuse(where, f"a number {span}{', true or false' if takes_boolean else ''} is needed")


def check_member(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check one member of an object, which must be there; see the head of this module."""
    if "known" in options:
        check_members(value, where, options["known"])
    name = options["member"]
    chosen = value.get(name) if isinstance(value, dict) else None
    if "one_of" not in options:
        check_count(chosen, f"{where}.{name}", options)
    elif chosen not in options["one_of"]:
        raise refuse(f"{where}.{name}", f"one of {', '.join(options['one_of'])} is needed")


def check_list(value: Any, where: str, options: Mapping[str, Any]) -> None:
    """Check an array of at most `most` elements; it may be missing."""
    if value is not None and not (isinstance(value, list) and len(value) <= options["most"]):
        raise refuse(where, f"an array of at most {options['most']} elements is needed")


@lru_cache(maxsize=256)
def _looking_up(policy: CallPolicy, block: int | None) -> CallPolicy:
    # Copying one takes longer than all other work before the call leaves.
    return replace(policy, null_elsewhere=True, min_block=block)


def _number(raw: msgspec.Raw) -> int | None:
    """Return the block's number in a parameter: an integer, decimal or hex text, or `{block_number}`; else None."""
    try:
        value = msgspec.json.decode(raw)
        value = value.get(_BLOCK_MEMBER) if isinstance(value, dict) else value
        number = int(value, 0) if isinstance(value, str) else value
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    is_number = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MAX_NUMBER
    return number if is_number else None


def _is_empty(result: bytes, member: str) -> bool:
    """Return whether an answer has null, or a list with null in it, as that member."""
    try:
        value = bytes(msgspec.json.decode(result, type=dict[str, msgspec.Raw]).get(member, b""))
        items = msgspec.json.decode(value, type=list[msgspec.Raw]) if value.startswith(b"[") else [value]
    except (msgspec.MsgspecError, RecursionError):
        return False
    return any(bytes(item) == b"null" for item in items)


def _check_of(entry: dict[str, Any]) -> tuple[int, str, Mapping[str, Any]]:
    options = {name: value for name, value in entry.items() if name not in ("position", "check")}
    return entry["position"], entry["check"], options


def _names_of(entries: dict[str, Any], method: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the names of a method's parameters, `name|alias`; none in a family whose clients send none."""
    if "names" not in entries:
        return None
    names = tuple(tuple(name.split("|")) for name in entries["names"].get(method, ()))
    if len(names) != entries["methods"][method]:
        raise KeyError(f"the names of {method} are not as many as its parameters")
    return names


def _items(params: bytes | None, method: Method) -> Params:
    if params is None:
        return []
    if len(params) > MAX_PARAMS_BYTES:
        raise refuse("params", f"at most {MAX_PARAMS_BYTES} bytes are passed on")
    if nests_too_deeply(params):
        raise refuse("params", f"at most {DEEPEST} levels of arrays and objects are passed on")
    try:
        # Two looks: the first proves every byte to be JSON, because a caller's bytes go into our own request.
        msgspec.json.decode(params)
        if method.names is not None and params.lstrip(b" \t\r\n")[:1] == b"{":
            return _by_name(msgspec.json.decode(params, type=dict[str, msgspec.Raw]), method)
        return msgspec.json.decode(params, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise refuse("params", "a JSON array is needed, written as the node expects it") from None


def _by_name(given: dict[str, msgspec.Raw], method: Method) -> Params:
    """Return named parameters; refuses names that the method does not have, and one parameter under two."""
    names = method.names or ()
    for aliases in names:
        written = [name for name in aliases if name in given]
        if len(written) > 1:
            raise refuse("params", f"`{written[0]}` and `{written[1]}` are one parameter")
    known = {name for aliases in names for name in aliases}
    for name in given:
        if name not in known:
            takes = ", ".join(aliases[0] for aliases in names) or "none"
            raise refuse("params", f"{method.name} has no parameter `{name[:64]}`; those that it has: {takes}")
    return given


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member twice")
    return members
