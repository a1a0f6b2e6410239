"""Whatever a configuration holds, it is either settings or a ConfigError that names a key, says a fix and no secret."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runtime.config_errors import ConfigError
from runtime.settings import ChainSettings, EndpointSettings, Settings, load_settings
from runtime.settings.tree import SOURCES
from tests.examples import examples

SECRET = "SECRETabc123"
NAMES = sorted(
    {
        *Settings.model_fields,
        *ChainSettings.model_fields,
        *EndpointSettings.model_fields,
        *(name for field in Settings.model_fields.values() for name in getattr(field.annotation, "model_fields", {})),
        "ethereum",
        "no such key",
        f"wp_{SECRET}",
        f"https://node.example.org/{SECRET}",
        "",
    }
)
# What TOML can hold.
LEAVES = st.one_of(
    st.text(max_size=12),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.just(datetime(2026, 1, 1)),
    st.just(date(2026, 1, 1)),
    st.just(time(1, 2)),
    st.sampled_from([f"https://node.example.org/{SECRET}", f"wp_{SECRET}", "a:1", "unix:/x", "[", "[1]", "1s", "::1"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)),
)


def load(table: dict[str, Any], environ: dict[str, str]) -> None:
    try:
        load_settings(environ=environ, overrides=table)
    except ConfigError as error:
        for mistake in error.every():
            assert mistake.key
            assert mistake.fix
            assert SECRET not in str(mistake)
    assert SOURCES.get() == ()


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))
def test_any_file(table: dict[str, Any]) -> None:
    load(table, {})


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(list(EndpointSettings.model_fields)), VALUES, max_size=5))
@example({"label": "own", "url_env": f"wp_{SECRET}"})
def test_any_endpoint(endpoint: dict[str, Any]) -> None:
    load({"chains": {"ethereum": {"endpoints": [endpoint]}}}, {})


@settings(max_examples=examples(80), deadline=None)
@given(
    st.dictionaries(
        st.builds(lambda parts: "WAYPOST_" + "__".join(parts).upper(), st.lists(st.sampled_from(NAMES), max_size=4)),
        st.text(alphabet=st.characters(exclude_characters="\0"), max_size=20),
        max_size=4,
    )
)
def test_any_environment(environ: dict[str, str]) -> None:
    environ.pop("WAYPOST_CONFIG", None)
    load({}, environ)
