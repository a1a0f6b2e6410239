"""What the errors of nodes mean: one reader of the families' tables (`errors.toml`), and a safe path for the unknown.

    rules     the first that fits decides: one of its `words` or `patterns` is in the node's text (in lower case), or
              the error's code among its `codes`; none fits whose `unless` is in the error's `data`
    codes     by the error's code, or by HTTP status where it has none, if no rule fits
    statuses  by HTTP status alone, before those: `5xx` are all other server errors
    facts     the number that `pattern` finds in the text becomes the field `member` of errors of class `error`, and
              `words` are added to the message
    quotes    what `pattern` finds in the `data` of errors of class `error` is added to the message: the last `most`
    options   `reads_data`: rules look at the error's `data` too; `trusts_status`: with HTTP 5xx an unclear error is the
              endpoint's own

Every rule has a `verdict` (`Verdict`), an `error` (a class of `server.errors`), its `message`, and what an endpoint
`lacks` that answers so. Messages hold nothing of a node's own text but facts and quotes.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server import errors
from server.errors import GatewayError, UpstreamUnavailable
from server.upstream.verdicts import Classified, Verdict

if TYPE_CHECKING:
    from server.upstream.endpoint import Lack

_CHAINS = Path(__file__).parents[1]
# Reasons are a sentence or two, and what failed innermost stands last: of very long data beginning and end are read.
_MOST_READ = 128 * 1024


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table: what fits it, and what that means."""

    verdict: Verdict
    error: type[GatewayError]
    message: str
    words: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()
    codes: frozenset[int] = frozenset()
    unless: bytes = b""
    lacks: Lack | None = None

    @classmethod
    def of(cls, row: dict[str, Any]) -> Rule:
        """Return the rule of a row; KeyError, ValueError or AttributeError where it is none."""
        return cls(
            verdict=Verdict(row["verdict"]),
            error=getattr(errors, row["error"]),
            message=row["message"],
            words=tuple(row.get("words", ())),
            patterns=tuple(map(re.compile, row.get("patterns", ()))),
            codes=frozenset(row.get("codes", ())),
            unless=row.get("unless", "").encode(),
            lacks=row.get("lacks"),
        )

    def fits(self, text: str, code: int | None = None, data: bytes | None = None) -> bool:
        """Return whether the rule is about an error with that text, in lower case."""
        if self.unless and data is not None and self.unless in data:
            return False
        return (
            code in self.codes
            or any(words in text for words in self.words)
            or any(pattern.search(text) for pattern in self.patterns)
        )


@dataclass(frozen=True, slots=True)
class _Fact:
    error: type[GatewayError]
    member: str
    pattern: re.Pattern[str]
    words: str

    @classmethod
    def of(cls, row: dict[str, str]) -> _Fact:
        kind, member = getattr(errors, row["error"]), row["member"]
        if not hasattr(kind, member):
            raise AttributeError(f"{row['error']} has no field {member}")
        return cls(kind, member, re.compile(row["pattern"]), row.get("words", ""))


@dataclass(frozen=True, slots=True)
class _Quotes:
    error: type[GatewayError]
    pattern: re.Pattern[str]
    most: int

    def find(self, details: str) -> str:
        """Return what is quoted from the details, innermost last; empty where that looks like an address."""
        words = list(dict.fromkeys(self.pattern.findall(details)))[-self.most :]
        return f": {', '.join(words)}" if words and not any("://" in word for word in words) else ""


UNKNOWN = Rule(Verdict.UNCLEAR, UpstreamUnavailable, "the nodes refused the call for an unknown reason")
LIMITED = Rule(Verdict.LIMITED, UpstreamUnavailable, "the nodes are throttling the gateway; try again")


class ErrorRules:
    """The `ErrorTable` of a family, or of one `kind` of its endpoints."""

    def __init__(self, family: str, kind: str | None = None) -> None:
        whole = tomllib.loads((_CHAINS / family / "errors.toml").read_text(encoding="utf-8"))
        self.table: dict[str, Any] = whole if kind is None else whole[kind]
        options = self.table.get("options", {})
        self._reads_data = options.get("reads_data", False)
        self._trusts_status = options.get("trusts_status", False)
        self.rules = tuple(map(Rule.of, self.table["rules"]))
        self._codes = {int(code): Rule.of(row) for code, row in self.table.get("codes", {}).items()}
        self._statuses = {status: Rule.of(row) for status, row in self.table.get("statuses", {}).items()}
        self._facts = tuple(map(_Fact.of, self.table.get("facts", ())))
        quotes = self.table.get("quotes")
        self._quotes = quotes and _Quotes(
            getattr(errors, quotes["error"]), re.compile(quotes["pattern"]), quotes["most"]
        )

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on a node's error; `data` is the JSON of the error's `data` member.

        The unknown is asked of the next endpoint and ends as 503.
        """
        if http_status == 429:
            return self.judge(LIMITED, http_status, "")
        details = _ends(data).decode("utf-8", "replace") if self._reads_data and data else ""
        text = f"{message} {details}".lower() if details else message.lower()
        rule = next((rule for rule in self.rules if rule.fits(text, code, data)), None)
        return self.judge(rule or self.by_number(http_status, code), http_status, text, details)

    def by_number(self, http_status: int, code: int | None) -> Rule:
        """Return what an error means that no rule fits."""
        if code is not None:
            return self._codes.get(code, UNKNOWN)
        rule = self._statuses.get(str(http_status)) or self._statuses.get(f"{http_status // 100}xx")
        return rule or self._codes.get(http_status, UNKNOWN)

    def judge(self, rule: Rule, http_status: int, text: str, details: str = "") -> Classified:
        """Return the verdict of a rule on an error with that text, in lower case."""
        is_sick = self._trusts_status and rule.verdict is Verdict.UNCLEAR and http_status >= 500
        verdict = Verdict.SICK if is_sick else rule.verdict
        return Classified(verdict, self.explain(rule, text, details), lacks=rule.lacks)

    def explain(self, rule: Rule, text: str, details: str = "") -> GatewayError:
        """Return the error of a rule, with the facts that are in the text."""
        error = rule.error(rule.message)
        for fact in self._facts:
            if fact.error is rule.error and (found := fact.pattern.search(text)):
                number = int(found[found.lastindex or 0])
                error = rule.error(rule.message + fact.words.format(number))
                setattr(error, fact.member, number)
        if self._quotes is not None and rule.error is self._quotes.error:
            error = rule.error(rule.message + self._quotes.find(details))
        return error


def _ends(data: bytes) -> bytes:
    return data if len(data) <= 2 * _MOST_READ else data[:_MOST_READ] + b" " + data[-_MOST_READ:]
