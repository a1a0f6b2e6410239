"""Token amounts as exact decimal text."""

from __future__ import annotations


def decimal_text(raw: int, decimals: int) -> str:
    """Return `raw` shifted by `decimals` as plain decimal text, without exponent, trailing zeros or rounding.

    `decimal_text(1_500_000, 6)` is `"1.5"`; with `decimals` 0 it is `raw` itself (decisions section 3.2).
    """
    if decimals <= 0 or raw == 0:
        return str(raw)
    sign, digits = ("-", str(-raw)) if raw < 0 else ("", str(raw))
    digits = digits.rjust(decimals + 1, "0")
    fraction = digits[-decimals:].rstrip("0")
    whole = digits[:-decimals]
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole
