"""Off-chain APIs: where they are asked, what their HTTP errors mean, and how their answers are read.

They are asked at the endpoints of the settings, else at the public ones of endpoints.toml. Answers are read strictly:
a changed shape is an error, never a wrong figure.
"""

from __future__ import annotations

import math
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from runtime.settings import RemoteSettings
from runtime.version import VERSION
from server.errors import NotFound, UpstreamUnavailable
from server.upstream import Classified, Verdict

if TYPE_CHECKING:
    from decimal import Decimal

    from runtime.settings import Settings

AGENT = (("User-Agent", f"waypost/{VERSION}"),)
"""The header by which public APIs identify their clients: CoinGecko refuses requests without one (403)."""

_PUBLIC = Path(__file__).with_name("endpoints.toml")


def source_endpoints(settings: Settings, name: str) -> tuple[RemoteSettings, ...]:
    """Return the endpoints of a source, none where it is switched off; the devnet asks no public one."""
    configured = settings.sources.get(name)
    if configured is not None:
        return configured.endpoints
    if settings.profile == "devnet":
        return ()
    public = tomllib.loads(_PUBLIC.read_text(encoding="utf-8"))
    return tuple(RemoteSettings.model_validate(row) for row in public[name])


_THROTTLED = 429
_ABSENT = 404
_BROKEN = 500


class ApiErrors:
    """Errors of APIs that answer with plain HTTP statuses. Their texts are not passed on."""

    def __init__(self, name: str) -> None:
        self._name = name

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict by status alone: absent, throttled, broken, or refused (a missing key, for example)."""
        if http_status == _ABSENT:
            return Classified(Verdict.ELSEWHERE, NotFound(f"{self._name} does not have that"))
        if http_status == _THROTTLED:
            return Classified(Verdict.LIMITED, UpstreamUnavailable(f"{self._name} throttles the gateway"))
        if http_status >= _BROKEN:
            return Classified(Verdict.SICK, UpstreamUnavailable(f"{self._name} failed"))
        return Classified(Verdict.SICK, UpstreamUnavailable(f"{self._name} refused the request"))


class WholeApiErrors(ApiErrors):
    """Errors of APIs that are asked at fixed paths alone: what is absent there is the API, not something of it."""

    def classify(self, http_status: int, code: int | None, message: str, data: bytes | None) -> Classified:
        """Return the verdict by status alone; see `ApiErrors`."""
        if http_status == _ABSENT:
            words = f"{self._name} does not answer at the configured address"
            return Classified(Verdict.SICK, UpstreamUnavailable(words))
        return super().classify(http_status, code, message, data)


Shape = TypeVar("Shape")


def read_shape(body: bytes, shape: type[Shape], name: str) -> Shape:
    """Return a JSON document as its known shape; numbers become exact decimals where the shape has them.

    Raises:
        UpstreamUnavailable: it has another shape; the text names the member, never a value.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise changed_shape(name, str(error)) from None
    except (msgspec.MsgspecError, RecursionError):
        raise UpstreamUnavailable(f"{name} answers with something that is no JSON document") from None


def changed_shape(name: str, what: str) -> UpstreamUnavailable:
    """Return the error for an answer in another shape than the known one; `what` holds no value out of it."""
    return UpstreamUnavailable(f"{name} answers in a shape that this build does not know: {what}")


def read_moment(seconds: int, name: str) -> datetime:
    """Return unix seconds as a moment in UTC; UpstreamUnavailable for a time that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise UpstreamUnavailable(f"{name} answers with times that this build does not know") from None


def is_price(value: Decimal | None) -> bool:
    """Return whether a number can be a price: above zero and finite, as a double too, which callers get."""
    return value is not None and value.is_finite() and 0 < float(value) < math.inf
