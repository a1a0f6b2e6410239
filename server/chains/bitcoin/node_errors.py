"""What the errors of Bitcoin nodes and indexers mean: the table errors.toml, and a safe path for the unknown."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from server import errors
from server.errors import GatewayError, NotFound, UpstreamUnavailable
from server.upstream.verdicts import Classified, Verdict

if TYPE_CHECKING:
    from server.upstream.endpoint import Lack

_TABLE = Path(__file__).with_name("errors.toml")


class HeightMissing(NotFound):
    """The chain has no block of that height, or not yet."""


_OWN: dict[str, type[GatewayError]] = {HeightMissing.__name__: HeightMissing}


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
            error=_OWN.get(table["error"]) or getattr(errors, table["error"]),
            message=table["message"],
            words=tuple(table.get("words", ())),
            lacks=table.get("lacks"),
        )

    def judge(self) -> Classified:
        return Classified(self.verdict, self.error(self.message), lacks=self.lacks)


_UNKNOWN = _Rule(Verdict.UNCLEAR, UpstreamUnavailable, "the nodes refused the call for an unknown reason")
_BROKEN = _Rule(Verdict.SICK, UpstreamUnavailable, "the nodes failed at the call")
_LIMITED = _Rule(Verdict.LIMITED, UpstreamUnavailable, "the nodes are throttling the gateway; try again")


class BitcoinErrors:
    """The `ErrorTable` of one kind of endpoint: `core` or `esplora`."""

    def __init__(self, kind: Literal["core", "esplora"]) -> None:
        table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))[kind]
        self._rules = tuple(map(_Rule.of, table["rules"]))
        self._codes: dict[int | None, _Rule] = {int(code): _Rule.of(rule) for code, rule in table["codes"].items()}

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on an error.

        Core's errors ride on HTTP 500 by old custom, so the status tells something only where there is no code. The
        unknown is asked of the next endpoint and ends as 503.
        """
        if http_status == 429:
            return _LIMITED.judge()
        text = message.lower()
        for rule in self._rules:
            if any(words in text for words in rule.words):
                return rule.judge()
        if code is None and http_status >= 500:
            return _BROKEN.judge()
        return self._codes.get(http_status if code is None else code, _UNKNOWN).judge()
