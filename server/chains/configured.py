"""Judges `[chains.<slug>]` of the settings against the chain table: slugs that exist, kinds that the family reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.config_errors import ConfigError
from runtime.redaction import redact_text
from server.chains.facts import load_facts
from server.chains.suggestions import suggest_chain

if TYPE_CHECKING:
    from runtime.settings import Settings

# The interfaces that each family's drivers ask.
KINDS: dict[str, tuple[str, ...]] = {
    "evm": ("jsonrpc",),
    "solana": ("jsonrpc",),
    "starknet": ("jsonrpc",),
    "bitcoin": ("core", "esplora", "scan"),
    "cosmos": ("rest", "comet"),
}


def check_configured(settings: Settings) -> None:
    """Return when every configured chain exists and every endpoint is of a kind that its family reads.

    Raises ConfigError with all mistakes; an unknown slug is answered with the nearest known one.
    """
    facts = load_facts()
    mistakes: list[ConfigError] = []
    for slug, chain in settings.chains.items():
        if slug not in facts:
            near = suggest_chain(slug, facts)
            advice = f'did you mean "{near}"?' if near else f"the chains are {', '.join(facts)}"
            mistakes.append(ConfigError(f"chains.{redact_text(slug)}", "", f"there is no such chain: {advice}"))
            continue
        kinds = KINDS[facts[slug].family]
        for position, endpoint in enumerate(chain.endpoints):
            if endpoint.kind not in kinds:
                fix = f"{facts[slug].name} is read through {' or '.join(kinds)}: set kind to one of them"
                key = f"chains.{slug}.endpoints[{position}].kind"
                mistakes.append(ConfigError(key, f'"{endpoint.kind}" (endpoint "{endpoint.label}")', fix))
    if mistakes:
        first = mistakes[0]
        raise ConfigError(first.key, first.value, first.fix, others=mistakes[1:])
