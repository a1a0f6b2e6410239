"""What the errors of Solana nodes mean: the table errors.toml, and a safe path for the unknown."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server import errors
from server.chains.solana.versions import version_metadata
from server.errors import ArchiveRequired, GatewayError, NotSupported, UpstreamUnavailable
from server.upstream.verdicts import Classified, Verdict

if TYPE_CHECKING:
    from server.upstream.endpoint import Lack

_TABLE = Path(__file__).with_name("errors.toml")

_UNHEALTHY = -32005
_VERSION = -32015
_OLDEST = re.compile(r"first available block: (\d{1,18})")


@dataclass(frozen=True, slots=True)
class _Rule:
    verdict: Verdict
    error: type[GatewayError]
    message: str
    words: tuple[str, ...] = ()
    lacks: Lack | None = None

    @classmethod
    def of(cls, table: dict[str, Any]) -> _Rule:
        return cls(
            verdict=Verdict(table["verdict"]),
            error=getattr(errors, table["error"]),
            message=table["message"],
            words=tuple(table.get("words", ())),
            lacks=table.get("lacks"),
        )


_UNKNOWN = _Rule(Verdict.UNCLEAR, UpstreamUnavailable, "the nodes refused the call for an unknown reason")
_LIMITED = _Rule(Verdict.LIMITED, UpstreamUnavailable, "the nodes are throttling the gateway; try again")


class SolanaErrors:
    """The `ErrorTable` of Solana."""

    def __init__(self) -> None:
        table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
        self._rules = tuple(map(_Rule.of, table["rules"]))
        self._codes: dict[int | None, _Rule] = {int(code): _Rule.of(rule) for code, rule in table["codes"].items()}

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on a node's error; `data` is the JSON of the error's `data` member.

        -32005 means "unhealthy" from a node, which says so in words or tells how far it is behind; without either it
        is a vendor's rate limit. The unknown is asked of the next endpoint and ends as 503.
        """
        if http_status == 429 or code == 429:
            return _judge(_LIMITED, http_status, "")
        text = message.lower()
        for rule in self._rules:
            if any(words in text for words in rule.words):
                return _judge(rule, http_status, text)
        if code == _UNHEALTHY and (data is None or b"numSlotsBehind" not in data):
            return _judge(_LIMITED, http_status, text)
        if code == _VERSION:
            refusal = NotSupported(self._codes[code].message, metadata=version_metadata(message))
            return Classified(self._codes[code].verdict, refusal)
        return _judge(self._codes.get(code, _UNKNOWN), http_status, text)


def _judge(rule: _Rule, http_status: int, text: str) -> Classified:
    is_sick = rule.verdict is Verdict.UNCLEAR and http_status >= 500
    oldest = _OLDEST.search(text) if rule.error is ArchiveRequired else None
    if oldest is None:
        error = rule.error(rule.message)
    else:
        words = f"{rule.message}; the oldest slot kept is {oldest[1]}"
        error = rule.error(words, metadata={"oldestBlock": oldest[1]})
    return Classified(Verdict.SICK if is_sick else rule.verdict, error, lacks=rule.lacks)
