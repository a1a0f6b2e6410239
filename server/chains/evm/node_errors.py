"""What the errors of EVM nodes mean: the table errors.toml, reverts, and a safe path for the unknown."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server import errors
from server.chains.evm.reverts import revert_data, reverted
from server.errors import ArchiveRequired, GatewayError, Reverted, UpstreamUnavailable
from server.upstream.verdicts import Classified, Verdict

_TABLE = Path(__file__).with_name("errors.toml")

_REVERT_CODES = frozenset((3, -32015))
_REVERT_WORDS = (
    "execution reverted",
    "vm execution error",
    "vm exception",
    "transaction: revert",
    "revert:",
    "evm error: revert",
)
_REASON = re.compile(
    r"(?:execution reverted|reverted with reason string|revert)[:\s]+'?(.{1,256}?)'?$", re.IGNORECASE | re.DOTALL
)
_OLDEST = re.compile(r"(?:earliest available|lowest height)(?: is)? #?(\d{1,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Rule:
    verdict: Verdict
    error: type[GatewayError]
    message: str
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: dict[str, Any]) -> _Rule:
        return cls(
            verdict=Verdict(table["verdict"]),
            error=getattr(errors, table["error"]),
            message=table["message"],
            words=tuple(table.get("words", ())),
        )


class EvmErrors:
    """The `ErrorTable` of the EVM family."""

    def __init__(self) -> None:
        table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
        self._rules = tuple(map(_Rule.of, table["rules"]))
        self._codes = {int(code): _Rule.of(rule) for code, rule in table["codes"].items()}

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on a node's error; `data` is the JSON of the error's `data` member.

        The unknown is asked of the next endpoint without a mark against this one, and ends as 503; only a server error
        of HTTP marks the endpoint.
        """
        text = message.lower()
        if http_status == 429:
            return Classified(Verdict.LIMITED, UpstreamUnavailable("the nodes are throttling the gateway; try again"))
        if code in _REVERT_CODES or any(words in text for words in _REVERT_WORDS):
            return Classified(Verdict.ANSWER, _revert(message, data))
        for rule in self._rules:
            if any(words in text for words in rule.words):
                return Classified(rule.verdict, _error(rule, message))
        if code in self._codes:
            rule = self._codes[code]
            return Classified(rule.verdict, _error(rule, message))
        verdict = Verdict.SICK if http_status >= 500 else Verdict.ELSEWHERE
        return Classified(verdict, UpstreamUnavailable("the nodes refused the call for an unknown reason"))


def _revert(message: str, data: bytes | None) -> Reverted:
    payload = revert_data(data)
    if payload:
        return reverted(payload)
    match = _REASON.search(message)
    # The node's own words are all there is; whatever looks like an address of something stays behind.
    if match is None or "://" in match[1] or not (reason := match[1].strip()) or reason.startswith("0x"):
        return reverted(b"")
    return Reverted(f"execution reverted: {reason}", metadata={"data": "0x"})


def _error(rule: _Rule, message: str) -> GatewayError:
    oldest = _OLDEST.search(message) if rule.error is ArchiveRequired else None
    if oldest is None:
        return rule.error(rule.message)
    return rule.error(f"{rule.message}; the oldest block kept is {oldest[1]}", metadata={"oldestBlock": oldest[1]})
