"""What an answer means for its endpoint: one place decides what counts for it, against it, or not at all."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from server.errors import DeadlineExceeded, GatewayError, ResponseTooLarge, UpstreamUnavailable
from server.upstream.connector import CallPolicy, Reply
from server.upstream.failures import Failure, Kind
from server.upstream.jsonrpc import NodeError
from server.upstream.node_words import quote_node
from server.upstream.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.errors import NodeWords
    from server.upstream.connector import Answer
    from server.upstream.endpoint import Endpoint, Lack
    from server.upstream.transport import Exchange, Observer, State
    from server.upstream.verdicts import ErrorTable

_log = structlog.get_logger("waypost.upstream")

_TOO_MANY_REQUESTS = 429
_NOT_LET_IN = frozenset({401, 402, 403, 407})
# A little less than the shortest attempt: the loop's clock is behind by as long as its turn takes.
_FAIR_WAIT = 0.95
"""A time-out after less than this is due to the caller's deadline rather than to the endpoint."""

_LEVELS: dict[State, str] = {
    "closed": "info",
    "open": "warning",
    "hung": "warning",
    "answers": "info",
    "limited": "debug",
    "excluded": "warning",
    "admitted": "info",
    "removed": "info",
}

_COSTLY = frozenset({Kind.TIMED_OUT, Kind.TOO_LARGE})
"""Failures that a call may cause by what it asks for."""


@dataclass(frozen=True, slots=True)
class AttemptFailure:
    """An attempt without a result: a short text for the log, and what follows.

    `final` is raised to the caller at once; `explaining` is what the caller gets if no other endpoint can; `lacks` is
    what the endpoint reported missing. `suspect` is the exchange that counts against the endpoint if another one
    answers the same call. `is_slow`: nothing was wrong but that no answer came in time; `is_silent`: the endpoint was
    found to hang while the call waited for it. `refusal` is what follows if the call is to blame. `node` is the
    node's own error, where the policy has it quoted.
    """

    words: str
    final: GatewayError | None = None
    explaining: GatewayError | None = None
    retry_after: float | None = None
    lacks: Lack | None = None
    suspect: Exchange | None = None
    is_slow: bool = False
    is_silent: bool = False
    refusal: GatewayError | None = None
    node: NodeWords | None = None

    @property
    def is_lasting(self) -> bool:
        """Whether asking the same endpoint again is pointless: it gave a reason that will not pass."""
        return self.explaining is not None and type(self.explaining) is not UpstreamUnavailable


class AttemptLog:
    """Collects, per endpoint label, the last failure as a short text, and keeps the first error that explains.

    `refusals` are the errors by which endpoints stated that they cannot, by label; `blaming` are those that may blame
    the call for it, each as often as it was reported. `suspects` are endpoints that failed for a reason that may be
    the call's, with the exchange that counts against them if another one answers.
    """

    def __init__(self, chain: str) -> None:
        self._chain = chain
        self._words: dict[str, str] = {}
        self._explaining: GatewayError | None = None
        self._retry_after: float | None = None
        self._is_time: dict[str, bool] = {}
        self._is_silence = False
        self.suspects: list[tuple[Endpoint, Exchange]] = []
        self._node: NodeWords | None = None
        self.refusals: dict[str, GatewayError] = {}
        self.blaming: dict[str, list[GatewayError]] = {}

    def note(self, label: str, failure: AttemptFailure) -> None:
        """Note the outcome of an attempt at the endpoint."""
        self._words[label] = failure.words
        self._is_time[label] = failure.is_silent or failure.is_slow
        self._is_silence = self._is_silence or failure.is_silent
        if failure.refusal is not None:
            refusal = copy.copy(failure.refusal)
            refusal.node = failure.node
            self.blaming.setdefault(label, []).append(refusal)
        error = failure.explaining
        is_explained = self._explaining is not None
        if error is not None:
            self.refusals[label] = error
        # "Unavailable" alone explains nothing: the summary of all endpoints explains more.
        if self._explaining is None and type(error) is not UpstreamUnavailable:
            self._explaining = error
        # The text of the node whose error is raised, else of the last that refused the call, or gave any.
        node = self._node
        if (
            failure.node is not None
            and not is_explained
            and (failure.node.is_refusal or not (node and node.is_refusal))
        ):
            self._node = failure.node
        if failure.retry_after is not None and (self._retry_after is None or failure.retry_after < self._retry_after):
            self._retry_after = failure.retry_after

    def exhausted(self) -> GatewayError:
        """Return the error of a call that no endpoint answered."""
        if self._explaining is not None:
            # A copy: its raiser holds this log, and the original is among its own refusals.
            error = copy.copy(self._explaining)
        else:
            retry_after_ms = None if self._retry_after is None else int(self._retry_after * 1000)
            if self._is_silence and all(self._is_time.values()):
                # Nothing was wrong but that the time passed while the caller waited.
                message = f"{self._chain} did not answer in time: {self._summary()}"
                error = DeadlineExceeded(message, retry_after_ms=retry_after_ms)
            else:
                message = f"no endpoint of {self._chain} answered: {self._summary()}"
                error = UpstreamUnavailable(message, retry_after_ms=retry_after_ms)
        error.refusals = dict(self.refusals)
        error.node = self._node
        return error

    def late(self) -> GatewayError:
        """Return the error of a call whose deadline passed."""
        if not self._words:
            return DeadlineExceeded(f"{self._chain} did not answer before the deadline")
        error = DeadlineExceeded(f"{self._chain} did not answer before the deadline: {self._summary()}")
        error.node = self._node
        return error

    def _summary(self) -> str:
        return "; ".join(f"{label}: {words}" for label, words in self._words.items()) or "none is configured"


class Health:
    """Judges answers and keeps the breakers, pauses and latencies of one chain's endpoints."""

    def __init__(self, chain: str, errors: ErrorTable, observer: Observer, clock: Callable[[], float]) -> None:
        self._chain = chain
        self._errors = errors
        self._observer = observer
        self._clock = clock

    def settle(
        self, endpoint: Endpoint, answer: Answer, policy: CallPolicy, *, vouches: bool = True
    ) -> Reply | AttemptFailure:
        """Return the reply, or the failure, after the endpoint's state is updated.

        Several calls of one exchange count once. Slow and overlong answers to costly calls, and time-outs due to short
        deadlines, do not count; neither do throttling and errors by which a node states that it cannot. Without
        `vouches` a result does not close the breaker: a node may know its head and fail every read.
        """
        outcome, exchange = answer.outcome, answer.exchange
        if exchange.started <= endpoint.refuted_at:
            # Asked before it was known to serve another chain: its answer is of that one.
            return AttemptFailure(endpoint.wrong_chain or "served another chain when it was asked")
        if isinstance(outcome, (bytes, tuple)):
            if not (vouches and exchange.credited):
                # Any answer will do for a first figure: an endpoint without one would be tried first for ever.
                if not (policy.heavy or policy.caller_made) or endpoint.latency.median is None:
                    endpoint.latency.add(exchange.seconds)
                if vouches:
                    exchange.credited = True
                    if endpoint.breaker.succeed():
                        self.announce(endpoint, "closed")
            if isinstance(outcome, tuple):
                return Reply(b"", endpoint.label, exchange.seconds, exchange.headers, parts=outcome)
            return Reply(outcome, endpoint.label, exchange.seconds, exchange.headers, number=endpoint.number)
        if isinstance(outcome, NodeError):
            failure = self._settle_error(endpoint, outcome, exchange, policy)
            if not policy.quotes:
                return failure
            is_refusal = failure.final is not None or failure.explaining is not None
            # An endpoint that wants another key of the gateway's refuses the gateway.
            is_refusal = is_refusal and exchange.status not in _NOT_LET_IN
            return replace(failure, node=quote_node(outcome, endpoint.secrets)._replace(is_refusal=is_refusal))
        return self.settle_failure(endpoint, outcome, exchange, policy)

    def settle_failure(
        self, endpoint: Endpoint, failure: Failure, exchange: Exchange, policy: CallPolicy
    ) -> AttemptFailure:
        """Return the failure of an attempt that brought no JSON-RPC answer."""
        self._observer.failed(self._chain, endpoint.label, failure.kind)
        is_excused = self._is_excused(failure.kind, exchange, policy)
        if failure.kind is Kind.TOO_LARGE:
            # A contract that a caller chose may return as much as this: no endpoint's fault where all nodes agree.
            explaining = ResponseTooLarge("the node's answer is larger than the gateway reads")
            return AttemptFailure(failure.words, explaining=explaining, suspect=None if is_excused else exchange)
        if failure.kind is Kind.HUNG:
            return AttemptFailure(failure.words, retry_after=failure.retry_after, is_silent=True)
        if failure.kind is Kind.LIMITED:
            self._pause(endpoint, failure.retry_after)
        elif failure.kind is Kind.TIMED_OUT:
            if not is_excused:
                self._delay(endpoint, exchange)
        elif not is_excused:
            self._blame(endpoint, exchange)
        return AttemptFailure(failure.words, retry_after=failure.retry_after, is_slow=failure.kind is Kind.TIMED_OUT)

    def convict(self, endpoint: Endpoint, exchange: Exchange) -> None:
        """Count an unclear error, or an overlong answer, against the endpoint: another one answered the same call."""
        self._blame(endpoint, exchange)

    def announce(self, endpoint: Endpoint, state: State) -> None:
        """Report to the log and the observer that the endpoint's state changed."""
        self._observer.changed(self._chain, endpoint.label, state)
        why = {"why": endpoint.exclusion} if endpoint.exclusion else {}
        getattr(_log, _LEVELS[state])("endpoint " + state, chain=self._chain, endpoint=endpoint.label, **why)

    def _settle_error(
        self, endpoint: Endpoint, error: NodeError, exchange: Exchange, policy: CallPolicy
    ) -> AttemptFailure:
        judged = self._errors.classify(exchange.status, error.code, error.message, error.data)
        refusal = judged.refusal if policy.may_be_refused else None
        if judged.verdict is Verdict.LIMITED or exchange.status == _TOO_MANY_REQUESTS:
            self._observer.failed(self._chain, endpoint.label, Kind.LIMITED)
            retry_after = judged.retry_after if exchange.retry_after is None else exchange.retry_after
            self._pause(endpoint, retry_after)
            return AttemptFailure("throttled", retry_after=retry_after)
        if judged.verdict is Verdict.ANSWER:
            if not exchange.credited:
                exchange.credited = True
                self._measure(endpoint, exchange)
                if endpoint.breaker.succeed():
                    self.announce(endpoint, "closed")
            return AttemptFailure("answered", final=judged.error)
        if judged.verdict is Verdict.ELSEWHERE:
            self._observer.failed(self._chain, endpoint.label, Kind.CANNOT)
            self._measure(endpoint, exchange)
            return AttemptFailure(judged.error.message, explaining=judged.error, lacks=judged.lacks, refusal=refusal)
        self._observer.failed(self._chain, endpoint.label, Kind.NODE_ERROR)
        # The outside caller's input may be the cause: that proves nothing against the node.
        if judged.verdict is Verdict.UNCLEAR:
            self._measure(endpoint, exchange)
            suspect = None if policy.caller_made else exchange
            return AttemptFailure(judged.error.message, explaining=judged.error, suspect=suspect, refusal=refusal)
        if not policy.caller_made:
            self._blame(endpoint, exchange)
        return AttemptFailure("node error" if error.code is None else f"node error {error.code}")

    def _is_excused(self, kind: Kind, exchange: Exchange, policy: CallPolicy) -> bool:
        if kind in _COSTLY and (policy.heavy or policy.caller_made):
            return True
        return kind is Kind.TIMED_OUT and self._clock() - exchange.started < _FAIR_WAIT

    def _measure(self, endpoint: Endpoint, exchange: Exchange) -> None:
        """Take the time of an error as the endpoint's first figure; later ones mean nothing for results."""
        if endpoint.latency.median is None:
            endpoint.latency.add(exchange.seconds)

    def _blame(self, endpoint: Endpoint, exchange: Exchange) -> None:
        if exchange.blamed:
            return
        exchange.blamed = True
        if endpoint.breaker.fail(self._clock()):
            self.announce(endpoint, "open")

    def _delay(self, endpoint: Endpoint, exchange: Exchange) -> None:
        if exchange.blamed:
            return
        exchange.blamed = True
        now = self._clock()
        endpoint.latency.add(now - exchange.started)
        if endpoint.watch is not None:
            # Hanging is detected elsewhere; what is merely slow is no failure.
            endpoint.breaker.delay(now)
            if endpoint.last_byte_at < exchange.started:
                endpoint.watch.suspect()
        elif endpoint.breaker.fail(now, is_slow=True):
            self.announce(endpoint, "open")

    def _pause(self, endpoint: Endpoint, seconds: float | None) -> None:
        was_paused = endpoint.paused_for > 0
        endpoint.pause(seconds)
        if not was_paused:
            self.announce(endpoint, "limited")
