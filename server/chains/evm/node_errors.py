"""What the errors of EVM nodes mean: the table errors.toml, reverts, and a safe path for the unknown."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.redaction import redact_text
from server import errors
from server.chains.evm.logs.limits import read_limit
from server.contracts.quantity import json_data
from server.contracts.reverts import reverted
from server.errors import ArchiveRequired, GatewayError, NotFound, RangeTooLarge, Reverted, UpstreamUnavailable
from server.upstream.verdicts import Classified, Verdict

if TYPE_CHECKING:
    from server.upstream.endpoint import Lack

_TABLE = Path(__file__).with_name("errors.toml")

_REVERT_CODES = frozenset((3, -32015))
_REVERT_WORDS = (
    "execution reverted",
    "vm execution error",
    "vm exception",
    "transaction: revert",
    "transaction reverted",
    "revert:",
    "evm error: revert",
)
_REASON = re.compile(
    r"(?:(?:execution reverted|reverted with reason string|revert)[:\s]+|transaction reverted: )'?(.{1,256}?)'?$",
    re.IGNORECASE | re.DOTALL,
)
# Nodes say in a few words why they gave a call up; what is longer is read no further.
_MOST_READ = 8192
_NEWEST = re.compile(r"latest block number is (\d{1,18})", re.IGNORECASE)
_OLDEST = re.compile(r"(?:earliest available|lowest height)(?: is)? #?(\d{1,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Rule:
    verdict: Verdict
    error: type[GatewayError]
    message: str
    words: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()
    lacks: Lack | None = None

    @classmethod
    def of(cls, table: dict[str, Any]) -> _Rule:
        return cls(
            verdict=Verdict(table["verdict"]),
            error=getattr(errors, table["error"]),
            message=table["message"],
            words=tuple(table.get("words", ())),
            patterns=tuple(map(re.compile, table.get("patterns", ()))),
            lacks=table.get("lacks"),
        )

    def fits(self, text: str) -> bool:
        """Return whether the rule knows a message, given in lower case."""
        return any(words in text for words in self.words) or any(pattern.search(text) for pattern in self.patterns)


_UNKNOWN = _Rule(Verdict.UNCLEAR, UpstreamUnavailable, "the nodes refused the call for an unknown reason")


class EvmErrors:
    """The `ErrorTable` of the EVM family."""

    def __init__(self) -> None:
        table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
        self._rules = tuple(map(_Rule.of, table["rules"]))
        self._codes: dict[int | None, _Rule] = {int(code): _Rule.of(rule) for code, rule in table["codes"].items()}
        self._refusing = frozenset(table["refusals"]["codes"])
        self._not_refusing = tuple(map(re.compile, table["refusals"]["patterns"]))

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on a node's error; `data` is the JSON of the error's `data` member.

        The unknown is asked of the next endpoint and ends as 503. It marks this endpoint at once only with a server
        error of HTTP, else only if another one answers the same call. Where the call itself may be what is refused,
        that is said besides (`refusal`), with the node's words.
        """
        text = message.lower()
        if http_status == 429:
            return Classified(Verdict.LIMITED, UpstreamUnavailable("the nodes are throttling the gateway; try again"))
        if code in _REVERT_CODES or any(words in text for words in _REVERT_WORDS):
            return Classified(Verdict.ANSWER, self._halt(text, data) or _revert(message, data))
        for rule in self._rules:
            if rule.fits(text):
                return _judge(rule, http_status, message)
        judged = _judge(self._codes.get(code, _UNKNOWN), http_status, message)
        if code not in self._refusing or http_status >= 500 or not text or self._is_about_the_node(text):
            return judged
        return replace(judged, refusal=_refusal(message, data))

    def _is_about_the_node(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self._not_refusing)

    def _halt(self, text: str, data: bytes | None) -> GatewayError | None:
        """Return why the virtual machine gave a call up, where nodes that use one error for all failures say so.

        None for a revert: its words are the contract's own, and its data may be a megabyte of them.
        """
        if "revert" in text:
            return None
        why = f"{text} {error_text(data)[:_MOST_READ].lower()}"
        return None if "revert" in why or "0x" in why else self.explain_halt(why)

    def explain_halt(self, words: str) -> GatewayError | None:
        """Return why a call was given up, by a node's words for it; None where they do not tell."""
        text = words[: 2 * _MOST_READ].lower()
        rules = (rule for rule in self._rules if rule.verdict is Verdict.ANSWER and rule.fits(text))
        return next((_error(rule, text) for rule in rules), None)


def revert_data(data: bytes | None) -> bytes | None:
    """Return the revert bytes in an error's `data` member; None where it holds none.

    Nodes write `"0x..."`, `"Reverted 0x..."`, `{"data": ...}` or `{"originalError": {"data": ...}}`.
    """
    if data is not None:
        with suppress(ValueError):
            # As most nodes write it: one pass over what may be megabytes.
            return json_data(data)
    _, separator, digits = error_text(data).rpartition("0x")
    try:
        return bytes.fromhex(digits) if separator else None
    except ValueError:
        return None


def error_text(data: bytes | None) -> str:
    """Return the text in an error's `data` member, wherever nodes put it; empty where there is none."""
    if data is None:
        return ""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return ""
    for _ in range(3):
        if isinstance(value, dict):
            value = value.get("data", value.get("originalError", value.get("result")))
    return value if isinstance(value, str) else ""


def _judge(rule: _Rule, http_status: int, message: str) -> Classified:
    is_sick = rule.verdict is Verdict.UNCLEAR and http_status >= 500
    return Classified(Verdict.SICK if is_sick else rule.verdict, _error(rule, message), lacks=rule.lacks)


def _revert(message: str, data: bytes | None) -> Reverted:
    payload = revert_data(data)
    if payload:
        return reverted(payload)
    match = _REASON.search(message)
    # The node's own words are all there is; whatever looks like an address of something stays behind.
    if match is None or "://" in match[1] or not (reason := match[1].strip()) or reason.startswith("0x"):
        return reverted(b"")
    return Reverted(f"execution reverted: {reason}", metadata={"data": "0x"})


def _refusal(message: str, data: bytes | None) -> Reverted:
    """Return what an error of unknown words means if the call is to blame for it."""
    payload = revert_data(data)
    return reverted(payload) if payload else Reverted(f"the nodes refuse the call: {redact_text(message)}")


def _error(rule: _Rule, message: str) -> GatewayError:
    if rule.error is RangeTooLarge:
        return rule.error(rule.message, metadata=read_limit(message))
    if rule.error is NotFound and (newest := _NEWEST.search(message)):
        return rule.error(f"{rule.message}: the newest is {newest[1]}", metadata={"head": newest[1]})
    oldest = _OLDEST.search(message) if rule.error is ArchiveRequired else None
    if oldest is None:
        return rule.error(rule.message)
    return rule.error(f"{rule.message}; the oldest block kept is {oldest[1]}", metadata={"oldestBlock": oldest[1]})
