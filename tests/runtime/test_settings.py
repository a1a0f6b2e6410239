from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from devnet.install import STATE
from runtime.config_errors import ConfigError
from runtime.settings import ChainSettings, EndpointSettings, HttpSettings, Settings, load_settings
from runtime.settings.changes import changed_keys, refuse_fixed

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, text: str) -> Path:
    path = folder / "waypost.toml"
    path.write_text(text)
    return path


def test_nothing_configured_gives_the_defaults_on_mainnet() -> None:
    settings = load_settings(environ={})
    assert settings.profile == "mainnet"
    assert (settings.http.port, settings.grpc.port) == (8080, 50051)
    assert (settings.server_limits.max_in_flight, settings.server_limits.max_in_flight_per_key) == (2000, None)
    assert (settings.quotas.demo_rate, settings.quotas.demo_burst) == (1, 1)
    assert settings.http.max_body_bytes == 1 << 20
    assert settings.chains == {}
    assert settings == Settings()


def test_direct_construction_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_HTTP_PORT", "1234")
    monkeypatch.setenv("HTTP", '{"port": 4321}')
    monkeypatch.setenv("PROFILE", "devnet")
    assert Settings() == load_settings(environ={})
    assert Settings(http=HttpSettings(port=7)).http.port == 7


def test_command_line_wins_over_environment_over_file(tmp_path: Path) -> None:
    path = write(tmp_path, '[http]\nhost = "0.0.0.0"\nport = 1\n[grpc]\nport = 2\n[log]\nlevel = "error"\n')
    environ = {"WAYPOST_HTTP_PORT": "10", "WAYPOST_GRPC__PORT": "20"}
    settings = load_settings(path, environ=environ, overrides={"grpc": {"port": 200}})
    assert settings.http.host == "0.0.0.0"
    assert settings.http.port == 10
    assert settings.grpc.port == 200
    assert settings.log.level == "error"


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'profile = "devnet"\n')
    assert load_settings(environ={"WAYPOST_CONFIG": str(path)}).profile == "devnet"
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(environ={"WAYPOST_CONFIG": str(tmp_path / "absent.toml")})


def test_lists_and_tables_in_variables() -> None:
    environ = {
        "WAYPOST_HTTP__CORS_ORIGINS": "https://a.example.org, https://b.example.org",
        "WAYPOST_HTTP__TRUSTED_PROXIES": '["10.0.0.0/8"]',
        "WAYPOST_CHAINS__BASE__ENDPOINTS": '[{"label": "own", "url": "http://127.0.0.1:8545"}]',
        "WAYPOST_SERVER_LIMITS__DRAIN": "250ms",
        "WAYPOST_LOG__LEVEL": "",
    }
    settings = load_settings(environ=environ)
    assert settings.http.cors_origins == ("https://a.example.org", "https://b.example.org")
    assert settings.http.trusted_proxies == ("10.0.0.0/8",)
    assert settings.chains["base"].endpoints[0].url.get_secret_value() == "http://127.0.0.1:8545"
    assert settings.server_limits.drain == 0.25
    assert settings.log.level == "info"


def test_browsers_may_call_the_devnet_from_everywhere_unless_it_is_said_who_may() -> None:
    own = {"WAYPOST_HTTP__CORS_ORIGINS": "https://a.example.org"}
    for profile, unsaid in (("devnet", ("*",)), ("mainnet", ())):
        named = {"WAYPOST_PROFILE": profile}
        assert load_settings(environ=named).http.cors_origins == unsaid
        assert load_settings(environ=named | own).http.cors_origins == ("https://a.example.org",)
        nowhere = named | {"WAYPOST_HTTP__CORS_ORIGINS": "[]"}
        assert load_settings(environ=nowhere).http.cors_origins == ()


def test_variables_of_others_are_left_alone() -> None:
    environ = {
        "WAYPOST_PORT": "tcp://10.0.0.1:8080",
        "WAYPOST_SERVICE_HOST": "10.0.0.1",
        "WAYPOST_KEY": "wp_x",
        "WAYPOST_NODE_URL": "https://node.example.org",
    }
    assert load_settings(environ=environ) == Settings()


def test_secrets_come_from_variables_and_files(tmp_path: Path) -> None:
    secret = tmp_path / "credential"
    secret.write_text("0123456789abcdef-from-file\n")
    path = write(
        tmp_path,
        f"""
        [grpc]
        private_listen = "127.0.0.1:50052"
        credential_file = "{secret}"
        [chains.ethereum]
        endpoints = [{{ label = "a", url_env = "NODE", headers_env = {{ x-token = "TOKEN" }} }}]
        """,
    )
    settings = load_settings(path, environ={"NODE": "https://node.example.org/KEY1", "TOKEN": "t0"})
    assert settings.grpc.credential is not None
    assert settings.grpc.credential.get_secret_value() == "0123456789abcdef-from-file"
    (endpoint,) = settings.chains["ethereum"].endpoints
    assert endpoint.url.get_secret_value() == "https://node.example.org/KEY1"
    assert {name: value.get_secret_value() for name, value in endpoint.headers.items()} == {"x-token": "t0"}
    for secret_text in ("KEY1", "t0'", "from-file"):
        assert secret_text not in repr(settings)


def test_secrets_of_files_are_refused_when_empty(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    with pytest.raises(ConfigError, match="is empty"):
        load_settings(write(tmp_path, f'[storage]\nurl_file = "{empty}"\n'), environ={})


def test_every_mistake_is_reported_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, '[http]\nport = 70000\n[log]\nlevel = "loud"\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ={"WAYPOST_GRPC_PORT": "x"})
    assert [error.key for error in caught.value.every()] == ["http.port", "grpc.port", "log.level"]
    assert [error.origin for error in caught.value.every()] == [
        str(path),
        "environment variable WAYPOST_GRPC_PORT",
        str(path),
    ]


def test_the_text_of_an_error_has_key_value_origin_and_fix() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={"WAYPOST_HTTP_PORT": "70000"})
    assert str(caught.value) == (
        'http.port = "70000" (from environment variable WAYPOST_HTTP_PORT): give a number not above 65535'
    )


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b'profile = "\xe9"\n')
    with pytest.raises(ConfigError, match="UTF-8"):
        load_settings(path, environ={})


def test_each_profile_has_a_database_of_its_own() -> None:
    def url(**environ: str) -> str:
        return load_settings(environ=environ).storage.url.get_secret_value()

    assert url().endswith("/waypost/waypost.db")
    assert url(WAYPOST_PROFILE="mainnet") == url()
    assert url(WAYPOST_PROFILE="devnet") == f"sqlite+aiosqlite:///{STATE}/storage/waypost.db"
    # What is named is taken, wherever it is named.
    named = {"WAYPOST_PROFILE": "devnet", "SECRET": "sqlite:////srv/w.db"}
    for further in ({"WAYPOST_STORAGE__URL": named["SECRET"]}, {"WAYPOST_STORAGE__URL_ENV": "SECRET"}):
        assert url(**named, **further) == "sqlite+aiosqlite:////srv/w.db"


def test_the_storage_url_is_written_for_the_async_driver(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, '[storage]\nurl = "sqlite:////var/lib/w.db"\n'), environ={})
    assert settings.storage.url.get_secret_value() == "sqlite+aiosqlite:////var/lib/w.db"


def test_settings_cannot_be_changed() -> None:
    settings = Settings()
    with pytest.raises(ValidationError):
        settings.http.port = 1


def test_endpoints_can_be_built_in_code() -> None:
    endpoint = EndpointSettings(label="node-1", url="http://127.0.0.1:8545", rate=5)  # type: ignore[arg-type]
    assert ChainSettings(endpoints=(endpoint,)).endpoints[0].rate == 5
    assert "127.0.0.1" not in repr(endpoint)
    with pytest.raises(ValidationError) as caught:
        EndpointSettings(label="node-1", url="ftp://SECRET/")  # type: ignore[arg-type]
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("postgresql://u:p@db:5432/waypost", "postgresql+asyncpg://u:p@db:5432/waypost"),
        ("postgres://db/waypost", "postgresql+asyncpg://db/waypost"),
        ("postgresql+asyncpg://db/waypost?ssl=require", "postgresql+asyncpg://db/waypost?ssl=require"),
        ("postgresql://u@db/waypost?sslmode=verify-full", "postgresql+asyncpg://u@db/waypost?ssl=verify-full"),
        ("postgresql://u@/waypost?host=/run/postgresql", "postgresql+asyncpg://u@/waypost?host=%2Frun%2Fpostgresql"),
    ],
)
def test_postgresql_urls_get_the_driver_and_its_words(given: str, taken: str) -> None:
    settings = load_settings(environ={}, overrides={"storage": {"url": given}})
    assert settings.storage.url.get_secret_value() == taken


def test_auto_workers_are_as_many_as_processors_may_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.settings.values.usable_processors", lambda: 6)
    path = write(tmp_path, 'workers = "auto"\n')
    assert load_settings(path, environ={}).workers == 6
    assert load_settings(path, environ={"WAYPOST_WORKERS": "3"}).workers == 3
    assert load_settings(environ={"WAYPOST_WORKERS": " auto "}).workers == 6
    assert load_settings(path, environ={"WAYPOST_WORKERS": "3"}, overrides={"workers": "auto"}).workers == 6
    monkeypatch.setattr("runtime.settings.values.usable_processors", lambda: 1000)
    assert load_settings(path, environ={}).workers == 256


def test_auto_workers_are_no_change_for_a_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, 'workers = "auto"\n')
    before = load_settings(path, environ={})
    # What the process may use changes while it runs: not the number that it goes by.
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(before.workers + 3)), raising=False)
    after = load_settings(write(tmp_path, 'workers = "auto"\nlog.level = "error"\n'), environ={})
    assert changed_keys(before, after) == ("log.level",)
    refuse_fixed(before, after)
    refuse_fixed(before, load_settings(write(tmp_path, f"workers = {before.workers}\n"), environ={}))
    more = load_settings(write(tmp_path, f"workers = {before.workers + 1}\n"), environ={})
    with pytest.raises(ConfigError, match="chosen at the start"):
        refuse_fixed(before, more)


@pytest.mark.parametrize(
    "value", ['"Auto"', '"many"', '""', '"2.5"', "2.5", "true", "[]", '"٣"', '"1e1"', '"99999999999"', "{}"]
)
def test_workers_of_other_forms_are_refused_with_the_fix(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, f"workers = {value}\n"), environ={})
    assert caught.value.key == "workers"
    assert caught.value.fix == 'give a whole number from 1 to 256, or "auto"'
    assert caught.value.origin == str(tmp_path / "waypost.toml")


def test_auto_workers_share_ports_as_a_number_of_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.settings.values.usable_processors", lambda: 2)
    with pytest.raises(ConfigError, match="workers share their ports"):
        load_settings(environ={}, overrides={"workers": "auto", "http": {"port": 0}})
    monkeypatch.setattr("runtime.settings.values.usable_processors", lambda: 1)
    assert load_settings(environ={}, overrides={"workers": "auto", "http": {"port": 0}}).workers == 1
