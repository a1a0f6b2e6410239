"""What the errors of EVM nodes mean: the table errors.toml, reverts, and a safe path for the unknown."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from runtime.logs import redact_text
from server.chains.evm.logs.limits import read_limit
from server.chains.shared.error_rules import LIMITED, ErrorRules
from server.contracts.reverts import reverted
from server.contracts.words import json_data
from server.errors import RangeTooLarge, Reverted
from server.upstream.verdicts import Classified, Verdict

if TYPE_CHECKING:
    from server.chains.shared.error_rules import Rule
    from server.errors import GatewayError

_REASON = re.compile(
    r"(?:(?:execution reverted|reverted with reason string|revert)[:\s]+|transaction reverted: )'?(.{1,256}?)'?$",
    re.IGNORECASE | re.DOTALL,
)
# Nodes state in a few words why they gave a call up; longer texts are cut.
_MOST_READ = 8192


class EvmErrors(ErrorRules):
    """The `ErrorTable` of the EVM family: reverts and refused calls besides the rules."""

    def __init__(self) -> None:
        super().__init__("evm")
        self._revert_codes = frozenset(self.table["reverts"]["codes"])
        self._revert_words = tuple(self.table["reverts"]["words"])
        self._refusing = frozenset(self.table["refusals"]["codes"])
        self._not_refusing = tuple(map(re.compile, self.table["refusals"]["patterns"]))

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict on a node's error; `data` is the JSON of the error's `data` member.

        The unknown is asked of the next endpoint and ends as 503. It marks this endpoint at once only with a server
        error of HTTP, else only if another one answers the same call. Where the call itself may be what is refused,
        that is reported besides (`refusal`), with the node's text.
        """
        text = message.lower()
        if http_status == 429:
            return self.judge(LIMITED, http_status, text)
        if code in self._revert_codes or any(words in text for words in self._revert_words):
            return Classified(Verdict.ANSWER, self._halt(text, data) or _revert(message, data))
        for rule in self.rules:
            if rule.fits(text):
                return self.judge(rule, http_status, text)
        judged = self.judge(self.by_number(http_status, code), http_status, text)
        if code not in self._refusing or http_status >= 500 or not text or self._is_about_the_node(text):
            return judged
        return replace(judged, refusal=_refusal(message, data))

    def _is_about_the_node(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self._not_refusing)

    def _halt(self, text: str, data: bytes | None) -> GatewayError | None:
        """Return why the virtual machine gave a call up, where nodes that use one error for all failures state it.

        None for a revert: its text is the contract's own, and its data may be a megabyte.
        """
        if "revert" in text:
            return None
        why = f"{text} {error_text(data)[:_MOST_READ].lower()}"
        return None if "revert" in why or "0x" in why else self.explain_halt(why)

    def explain_halt(self, words: str) -> GatewayError | None:
        """Return why a call was given up, by a node's text; None where it gives no reason."""
        text = words[: 2 * _MOST_READ].lower()
        rules = (rule for rule in self.rules if rule.verdict is Verdict.ANSWER and rule.fits(text))
        return next((self.explain(rule, text) for rule in rules), None)

    def explain(self, rule: Rule, text: str, details: str = "") -> GatewayError:
        """Return the error of a rule, with the facts that are in the text, and what it states about ranges."""
        error = super().explain(rule, text, details)
        if isinstance(error, RangeTooLarge):
            error.advice = read_limit(text)
        return error


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


def _revert(message: str, data: bytes | None) -> Reverted:
    payload = revert_data(data)
    if payload:
        return reverted(payload)
    match = _REASON.search(message)
    # The node's own words are all there is; whatever looks like an address is removed.
    if match is None or "://" in match[1] or not (reason := match[1].strip()) or reason.startswith("0x"):
        return reverted(b"")
    return Reverted(f"execution reverted: {reason}", data=b"")


def _refusal(message: str, data: bytes | None) -> Reverted:
    """Return what an error of unknown words means if the call caused it."""
    payload = revert_data(data)
    return reverted(payload) if payload else Reverted(f"the nodes refuse the call: {redact_text(message)}")
