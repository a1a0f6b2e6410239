"""What the errors of Starknet nodes mean: the table errors.toml, the words of reverts, a safe path for the unknown."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server import errors
from server.errors import GatewayError, NotSupported, Reverted, UpstreamUnavailable
from server.upstream.verdicts import Classified, Verdict

if TYPE_CHECKING:
    from server.upstream.endpoint import Lack

_TABLE = Path(__file__).with_name("errors.toml")

# What contracts say themselves: short texts that the node spells out next to their felts.
_QUOTED = re.compile(r"\('([ -~]{1,31})'\)")
_MOST_WORDS = 4
_MOST_READ = 128 * 1024


class ContractMissing(NotSupported):
    """There is no contract at the address."""


class EntryPointMissing(NotSupported):
    """The contract has no entry point of that name."""


_OWN: dict[str, type[GatewayError]] = {kind.__name__: kind for kind in (ContractMissing, EntryPointMissing)}


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
            error=_OWN.get(table["error"]) or getattr(errors, table["error"]),
            message=table["message"],
            words=tuple(table.get("words", ())),
            patterns=tuple(map(re.compile, table.get("patterns", ()))),
            lacks=table.get("lacks"),
        )

    def fits(self, text: str) -> bool:
        """Return whether the rule knows what a node said, given in lower case."""
        return any(words in text for words in self.words) or any(pattern.search(text) for pattern in self.patterns)


_UNKNOWN = _Rule(Verdict.UNCLEAR, UpstreamUnavailable, "the nodes refused the call for an unknown reason")


class StarknetErrors:
    """The `ErrorTable` of the Starknet family."""

    def __init__(self) -> None:
        table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
        self._rules = tuple(map(_Rule.of, table["rules"]))
        self._codes: dict[int | None, _Rule] = {int(code): _Rule.of(rule) for code, rule in table["codes"].items()}

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on a node's error; `data` is the JSON of the error's `data` member.

        The unknown is asked of the next endpoint and ends as 503.
        """
        if http_status == 429:
            return Classified(Verdict.LIMITED, UpstreamUnavailable("the nodes are throttling the gateway; try again"))
        details = _ends(data or b"").decode("utf-8", "replace")
        text = f"{message} {details}".lower()
        rule = next((rule for rule in self._rules if rule.fits(text)), None) or self._codes.get(code, _UNKNOWN)
        is_sick = rule.verdict is Verdict.UNCLEAR and http_status >= 500
        words = _reverted_words(details) if rule.error is Reverted else ""
        return Classified(Verdict.SICK if is_sick else rule.verdict, rule.error(rule.message + words), lacks=rule.lacks)


def _ends(data: bytes) -> bytes:
    """Return the details of an error, of very long ones beginning and end: what failed innermost stands last."""
    return data if len(data) <= 2 * _MOST_READ else data[:_MOST_READ] + b" " + data[-_MOST_READ:]


def _reverted_words(details: str) -> str:
    """Return the contract's own words, innermost last; nothing else of the node's text reaches the caller."""
    words = list(dict.fromkeys(_QUOTED.findall(details)))[-_MOST_WORDS:]
    return f": {', '.join(words)}" if words and not any("://" in word for word in words) else ""
