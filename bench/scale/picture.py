"""The table as a picture: requests to the nodes and replicas over the load, both axes by powers of ten."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bench.scale.sharing import PLANS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.scale.simulation import Outcome

_COLOURS = dict(zip(PLANS, ("#b3402e", "#2f6db3", "#2e8b57"), strict=True))
_NAMES = {"alone": "nothing shared", "store": "Redis for reads near the head", "routed": "routed by chain"}
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 420, 300, 70, 50, 90


def draw(outcomes: Sequence[Outcome]) -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * (_WIDTH + _GAP) + 20} {_HEIGHT + 130}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_panel("requests to the nodes, 1/s", outcomes, _LEFT, lambda outcome: outcome.upstream),
        *_panel("replicas", outcomes, _LEFT + _WIDTH + _GAP, lambda outcome: float(outcome.replicas)),
    ]
    for place, plan in enumerate(PLANS):
        x, y = _LEFT + place * 230, _TOP + _HEIGHT + 62
        parts.append(f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" stroke="{_COLOURS[plan]}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 30}" y="{y + 4}">{_NAMES[plan]}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(title: str, outcomes: Sequence[Outcome], left: float, value: Callable[[Outcome], float]) -> list[str]:
    rates, values = [outcome.rate for outcome in outcomes], [value(outcome) for outcome in outcomes]
    lowest, highest = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    first, last = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))

    def x(rate: float) -> float:
        return left + (math.log10(rate) - first) / (last - first) * _WIDTH

    def y(found: float) -> float:
        return _TOP + _HEIGHT - (math.log10(found) - lowest) / (highest - lowest) * _HEIGHT

    parts = [f'<text x="{left}" y="{_TOP - 16}" font-size="14">{title}</text>']
    for power in range(first, last + 1):
        at = x(10.0**power)
        parts.append(f'<line x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{_TOP + _HEIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{_power(power)}</text>')
    for power in range(lowest, highest + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{left}" y1="{at:.1f}" x2="{left + _WIDTH}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{_power(power)}</text>')
    parts.append(f'<text x="{left + _WIDTH / 2}" y="{_TOP + _HEIGHT + 38}" text-anchor="middle">requests, 1/s</text>')
    for plan in PLANS:
        points = [(x(outcome.rate), y(value(outcome))) for outcome in outcomes if outcome.plan == plan]
        line = " ".join(f"{across:.1f},{up:.1f}" for across, up in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{_COLOURS[plan]}" stroke-width="2"/>')
        parts += [f'<circle cx="{across:.1f}" cy="{up:.1f}" r="3" fill="{_COLOURS[plan]}"/>' for across, up in points]
    return parts


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
