"""Mistakes in TLS are refused with the key, the value and the fix."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from runtime.config_errors import ConfigError
from runtime.settings import load_settings
from runtime.settings.changes import changed_keys, refuse_fixed
from tests.server.upstream.http.routes import Authority

if TYPE_CHECKING:
    from pathlib import Path


def test_a_right_pair_is_read_with_its_end_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("gateway.test")
    _, strange = authority.issue("other.test")
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("nothing")
    right = {"cert_file": str(certificate), "key_file": str(key), "client_ca_file": str(authority.certificate)}
    files = load_settings(environ={}, overrides={"http": {"tls": right}}).http.tls.files
    assert files is not None
    assert 86400 < files.load().expires_at - time.time() < 3 * 86400

    for change, member, fix in (
        ({"key_file": None}, "cert_file", "add key_file"),
        ({"cert_file": None}, "key_file", "add cert_file"),
        ({"key_file": str(strange)}, "cert_file", "of its own private key"),
        ({"key_file": str(tmp_path / "absent.secret-key")}, "key_file", "cannot be read"),
        ({"cert_file": str(nonsense)}, "cert_file", "in PEM"),
        ({"client_ca_file": str(nonsense)}, "client_ca_file", "authorities"),
    ):
        given = {name: value for name, value in {**right, **change}.items() if value is not None}
        for section in ("http", "grpc", "metrics"):
            with pytest.raises(ConfigError) as refused:
                load_settings(environ={}, overrides={section: {"tls": given}})
            assert refused.value.key == f"{section}.tls.{member}", refused.value
            assert fix in refused.value.fix
            assert "secret-key" not in str(refused.value)


def test_what_a_reload_changes_and_refuses() -> None:
    row = {"label": "a", "url": "http://10.0.0.1/secret"}

    def settings(**overrides: object) -> object:
        return load_settings(environ={}, overrides=overrides)

    before = settings(chains={"base": {"endpoints": [row]}})
    after = settings(
        chains={"base": {"endpoints": [{**row, "weight": 3}]}, "ethereum": {"endpoints": [row]}},
        quotas={"default_rate": 7},
        log={"level": "debug"},
    )
    assert changed_keys(before, after) == (  # type: ignore[arg-type]
        "quotas.default_rate",
        "log.level",
        "chains.base.endpoints",
        "chains.ethereum",
    )
    refuse_fixed(before, after)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as refused:
        refuse_fixed(
            before,  # type: ignore[arg-type]
            settings(
                profile="devnet",
                storage={"url": "sqlite:////tmp/secret.db"},
                cache={"max_bytes": 0},
                http={"host": "0.0.0.0"},
                chains={
                    "base": {"endpoints": [row], "mines_at_will": True},
                    "polygon": {"endpoints": [row], "mines_at_will": True},
                },
            ),  # type: ignore[arg-type]
        )
    shown = {one.key: one.value for one in refused.value.every()}
    assert shown == {
        "profile": '"devnet"',
        "http.host": '"0.0.0.0"',
        "storage.url": "(hidden)",
        "chains.base.mines_at_will": "true",
        "chains.polygon.mines_at_will": "true",
        "cache.max_bytes": "0",
    }
