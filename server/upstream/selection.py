"""Which endpoint is asked next."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from server.upstream.endpoint import Endpoint
    from server.upstream.heads import HeadTracker
    from server.upstream.policy import CallPolicy

_STICKINESS = 1.3
_READY, _LATE, _AVOIDED, _UNABLE, _PAUSED, _RESTING, _AHEAD, _DISBELIEVED = range(8)


class Selection:
    """Orders the endpoints of a pool: sound, late, avoided, unable, throttled, broken, ahead, disbelieved.

    Within these it goes by latency over weight.

    Avoided is an endpoint that answered this very call and lags, ahead one that answered it of a block that cannot be;
    unable is one that is known to lack what the call needs, disbelieved one that answered this very call with what
    cannot be its answer.

    The first choice stays the first choice until another one is clearly (30 %) better, because calls only fold at
    the endpoint that they share. An endpoint that was never measured is tried first: that is how it gets measured.
    """

    def __init__(self, endpoints: Sequence[Endpoint], heads: HeadTracker) -> None:
        self._endpoints = tuple(endpoints)
        self._heads = heads
        self._favourite: Endpoint | None = None

    @property
    def median(self) -> float | None:
        """The median latency of the first choice, in seconds."""
        return None if self._favourite is None else self._favourite.latency.median

    def next(self, method: str, policy: CallPolicy, tried: Collection[Endpoint]) -> Endpoint | None:
        """Return the best endpoint for the call that is not among `tried` and not excluded; None if there is none."""
        left = [endpoint for endpoint in self._endpoints if endpoint.exclusion is None and endpoint not in tried]
        if len(left) == 1:
            # The only one is the best, however it is.
            if not tried and policy.prefer is None:
                self._favourite = left[0]
            return left[0]
        best: Endpoint | None = None
        best_rank = (_DISBELIEVED + 1, 0.0)
        for endpoint in left:
            rank = self._rank(endpoint, method, policy)
            if rank < best_rank:
                best, best_rank = endpoint, rank
        if best is not None and not tried and policy.prefer is None and best_rank[0] == _READY:
            self._favourite = best
        return best

    def spare(self, method: str, policy: CallPolicy, tried: Collection[Endpoint]) -> Endpoint | None:
        """Return the best endpoint that is not among `tried` and in full health; None if there is none."""
        endpoint = self.next(method, policy, tried)
        return endpoint if endpoint is not None and self._rank(endpoint, method, policy)[0] == _READY else None

    def _rank(self, endpoint: Endpoint, method: str, policy: CallPolicy) -> tuple[int, float]:
        if endpoint.label in policy.disbelieved:
            level = _DISBELIEVED
        elif endpoint.label in policy.avoid and self._heads.is_ahead(endpoint.label):
            level = _AHEAD
        elif not endpoint.is_sound:
            level = _RESTING
        elif endpoint.paused_for > 0:
            level = _PAUSED
        elif endpoint.learnt.lacks(method, policy.min_block):
            level = _UNABLE
        elif endpoint.label in policy.avoid:
            level = _AVOIDED
        elif endpoint.is_doubtful or self._is_late(endpoint, policy):
            level = _LATE
        else:
            level = _READY
            if endpoint.label == policy.prefer:
                return level, -1.0
        score = (endpoint.latency.median or 0.0) / endpoint.weight
        return level, score / _STICKINESS if endpoint is self._favourite else score

    def _is_late(self, endpoint: Endpoint, policy: CallPolicy) -> bool:
        label, heads = endpoint.label, self._heads
        if heads.is_ahead(label):
            return True
        if policy.min_block is None:
            return heads.is_lagging(label) or heads.is_unheard(label)
        return heads.is_behind(label, policy.min_block)
