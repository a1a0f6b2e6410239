"""What the errors of Cosmos nodes mean: the table errors.toml, and a safe path for the unknown."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server import errors
from server.errors import ArchiveRequired, GatewayError, NotFound, UpstreamUnavailable
from server.upstream.verdicts import Classified, Verdict

if TYPE_CHECKING:
    from server.upstream.endpoint import Lack

_TABLE = Path(__file__).with_name("errors.toml")
_OLDEST = re.compile(r"lowest height is (\d{1,18})")


class HeightMissing(NotFound):
    """The chain has no block of that height, or not yet."""


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

    def judge(self, text: str) -> Classified:
        oldest = _OLDEST.search(text) if self.error is ArchiveRequired else None
        if oldest is None:
            return Classified(self.verdict, self.error(self.message), lacks=self.lacks)
        told = f"{self.message}; the oldest block kept is {oldest[1]}"
        return Classified(self.verdict, self.error(told, metadata={"oldestBlock": oldest[1]}), lacks=self.lacks)


# Reasons are a sentence or two; what is longer is read no further.
_MOST_READ = 64 * 1024

_OWN: dict[str, type[GatewayError]] = {HeightMissing.__name__: HeightMissing}
_UNKNOWN = _Rule(Verdict.UNCLEAR, UpstreamUnavailable, "the nodes refused the call for an unknown reason")


class CosmosErrors:
    """The `ErrorTable` of the Cosmos family, for REST and CometBFT alike."""

    def __init__(self) -> None:
        table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
        self._rules = tuple(map(_Rule.of, table["rules"]))
        self._codes: dict[int | None, _Rule] = {int(code): _Rule.of(rule) for code, rule in table["codes"].items()}

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on a node's error; CometBFT tells the reason in `data`, the REST gateway in `message`."""
        if http_status == 429:
            return Classified(Verdict.LIMITED, UpstreamUnavailable("the nodes are throttling the gateway; try again"))
        text = f"{message} {'' if data is None else data[:_MOST_READ].decode(errors='replace')}".lower()
        for rule in self._rules:
            if any(words in text for words in rule.words):
                return rule.judge(text)
        # A proxy in front of the node has no code of the gateway's.
        if code is None and http_status in (401, 403, 502, 503, 504):
            return Classified(Verdict.SICK, UpstreamUnavailable(f"the nodes answered with HTTP {http_status}"))
        return self._codes.get(code, _UNKNOWN).judge(text)
