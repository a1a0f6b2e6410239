"""Figures of yield products' APIs, checked and in the gateway's units: a figure that cannot be is a changed shape."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import overload

from server.apis.endpoints import changed_shape
from server.contracts.address import checksum_address

# A model of rates that stops at 200 % a year, compounded every second at full use, stays a thousand times below.
_HIGHEST_RATE = Decimal(10**6)
_LOWEST_RATE = Decimal(-1)
_MOST_DECIMALS = 77
_UINT = re.compile(r"0|[1-9][0-9]{0,77}")
_LARGEST = 2**256 - 1
_LONGEST_TEXT = 1024


class FigureReader:
    """Reads members of one API's answers. `name` is the API's; errors name the member by its path, never a value.

    Each method raises UpstreamUnavailable for a value that its kind cannot have. None is unknown and stays None.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def address(self, text: str, where: str) -> str:
        """Return an EVM address with its checksum; in mixed case it has to be right."""
        try:
            return checksum_address(text)
        except ValueError:
            raise changed_shape(self._name, f"`{where}` is no address") from None

    def text(self, text: str, where: str) -> str:
        """Return a name."""
        if len(text) > _LONGEST_TEXT:
            raise changed_shape(self._name, f"`{where}` is longer than any name")
        return text

    def decimals(self, value: int, where: str) -> int:
        """Return a token's number of decimals."""
        if not 0 <= value <= _MOST_DECIMALS:
            raise changed_shape(self._name, f"`{where}` is no number of decimals")
        return value

    def amount(self, value: int | str, where: str) -> int:
        """Return a raw amount, which comes as a number or as text."""
        text = str(value)
        if not _UINT.fullmatch(text) or int(text) > _LARGEST:
            raise changed_shape(self._name, f"`{where}` is no raw amount")
        return int(text)

    def dollars(self, value: Decimal | None, where: str) -> float | None:
        """Return a value in US dollars."""
        if value is None:
            return None
        if not value.is_finite() or value < 0 or not math.isfinite(float(value)):
            raise changed_shape(self._name, f"`{where}` is no value in dollars")
        return float(value)

    def share(self, value: Decimal, where: str) -> float:
        """Return a fraction of a whole in percent."""
        if not value.is_finite() or not 0 <= value <= 1:
            raise changed_shape(self._name, f"`{where}` is no share")
        return float(value * 100)

    @overload
    def percent(self, value: Decimal, where: str) -> float: ...
    @overload
    def percent(self, value: Decimal | None, where: str) -> float | None: ...
    def percent(self, value: Decimal | None, where: str) -> float | None:
        """Return a fraction per year in percent per year."""
        if value is None:
            return None
        if not value.is_finite() or not _LOWEST_RATE <= value <= _HIGHEST_RATE:
            raise changed_shape(self._name, f"`{where}` is no rate")
        return float(value * 100)
