"""`waypost doctor`: what is wrong is found, with its fix, and nothing is made, changed or printed that is secret."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import HealthServicer

from cli import doctor
from cli.__main__ import main
from devnet import status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAINNET_ID = "0x1"


class Node(BaseHTTPRequestHandler):
    """A node of one chain as far as it proves its chain and names its newest block."""

    chain_id = MAINNET_ID
    ahead = 0.0
    made_at: float | None = None

    def do_GET(self) -> None:
        self._answer(404, b"{}")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        calls = asked if isinstance(asked, list) else [asked]
        answers = [{"jsonrpc": "2.0", "id": one["id"], "result": self._result(one["method"])} for one in calls]
        self._answer(200, json.dumps(answers if isinstance(asked, list) else answers[0]).encode())

    def _result(self, method: str) -> Any:
        made_at = time() if self.made_at is None else self.made_at
        block = {
            "number": "0x10",
            "hash": "0x" + "1" * 64,
            "parentHash": "0x" + "2" * 64,
            "timestamp": hex(int(made_at)),
        }
        return {"eth_chainId": self.chain_id, "eth_syncing": False, "eth_blockNumber": "0x10"}.get(method, block)

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response_only(code)
        self.send_header("Date", formatdate(time() + self.ahead, usegmt=True))
        self.send_header("Content-Length", str(len(body)))
        # Who was asked beside another endpoint may not be listened to any more.
        with suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(**members: Any) -> Iterator[str]:
    """The URL of a node with these members."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Other", (Node,), members))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/SECRET"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("WAYPOST_CONFIG", "WAYPOST_HTTP_PORT", "WAYPOST_GRPC_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(status, "RUNNING", tmp_path / "running")
    return tmp_path / "waypost.toml"


def write(config: Path, *urls: str, more: str = "") -> None:
    """Write a configuration with ethereum alone, and free ports."""
    rows = ", ".join(f'{{ label = "node-{place}", url = "{url}" }}' for place, url in enumerate(urls))
    config.write_text(
        f'profile = "devnet"\nhttp.port = {free()}\ngrpc.port = {free()}\n{more}\n'
        f'[storage]\nurl = "sqlite:///{config.parent}/store/waypost.db"\n'
        f"[chains.ethereum]\nmines_at_will = false\nendpoints = [{rows}]\n"
    )


def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def examine(
    config: Path, capsys: pytest.CaptureFixture[str], *, code: int, arguments: tuple[str, ...] = ()
) -> dict[str, dict[str, str]]:
    """Return what the doctor finds, by check."""
    assert main(["doctor", "--config", str(config), "--json", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "SECRET" not in captured.out
    assert "://" not in captured.out
    answer = json.loads(captured.out)
    assert answer["ok"] == (code == 0)
    return {one["check"]: one for one in answer["checks"]}


def test_all_is_well_and_nothing_is_made(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as url:
        write(config, url)
        found = examine(config, capsys, code=0)
    assert {check: one["state"] for check, one in found.items()} == dict.fromkeys(
        ("configuration", "port http.port", "port grpc.port", "database", "chain ethereum", "clock"), "ok"
    )
    assert found["chain ethereum"]["found"] == "1 of 1 endpoints answer, newest block 16"
    assert not (config.parent / "store").exists()


def test_each_line_as_text_has_its_state_and_the_fix(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as url:
        write(config, url, f"http://127.0.0.1:{free()}/SECRET")
    assert main(["doctor", "--config", str(config)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    (failed,) = [line for line in lines if " failed " in line]
    assert failed.startswith("chain ethereum")
    assert "0 of 2 endpoints answer: node-0, node-1: " in failed
    assert "; fix: see whether they run" in failed


def test_endpoints_of_another_chain_and_those_that_lag_are_named(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as url, serving(chain_id="0x5") as other:
        write(config, url, other)
        found = examine(config, capsys, code=1)["chain ethereum"]
        assert found["found"].startswith("1 of 2 endpoints answer: node-1: ")
        assert "chain id 5" in found["found"]
    with serving(made_at=time() - 3600) as url:
        write(config, url)
        found = examine(config, capsys, code=1)["chain ethereum"]
        assert "newest block is older" in found["found"]


def test_a_clock_that_is_wrong_is_found(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(ahead=90) as url:
        write(config, url)
        found = examine(config, capsys, code=1)["clock"]
    assert found["state"] == "failed"
    assert "behind by the Date headers of 1 endpoints" in found["found"]
    assert "NTP" in found["fix"]


def test_a_port_of_something_else_is_found_and_a_gateway_s_is_not(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as url, serving() as other:
        write(config, url)
        monkeypatch.setenv("WAYPOST_HTTP_PORT", other.split(":")[2].split("/")[0])
        found = examine(config, capsys, code=1)
        assert found["port http.port"]["state"] == "failed"
        assert "another process uses that port" in found["port http.port"]["found"]
        assert "--http-port" in found["port http.port"]["fix"]
        monkeypatch.setenv("WAYPOST_HTTP_PORT", str(free()))
        monkeypatch.setenv("WAYPOST_GRPC_PORT", other.split(":")[2].split("/")[0])
        assert examine(config, capsys, code=1)["port grpc.port"]["state"] == "failed"
        # A gRPC server alone, without the JSON-RPC face.
        server = grpc.server(ThreadPoolExecutor(1))
        health_pb2_grpc.add_HealthServicer_to_server(HealthServicer(), server)
        monkeypatch.setenv("WAYPOST_GRPC_PORT", str(server.add_insecure_port("127.0.0.1:0")))
        server.start()
        found = examine(config, capsys, code=0)
        server.stop(None).wait()
        assert found["port grpc.port"]["found"].endswith("is served by a gateway")
        assert found["port http.port"]["found"].endswith("is free")


def test_a_database_of_another_profile_or_that_is_none_is_found(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config.parent / "store" / "waypost.db"
    with serving() as url:
        write(config, url)
        assert main(["keys", "list", "--config", str(config)]) == 0
        capsys.readouterr()
        before = path.read_bytes()
        assert "readable" in examine(config, capsys, code=0)["database"]["found"]
        assert path.read_bytes() == before
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE properties SET value = 'mainnet' WHERE name = 'profile'")
        connection.close()
        found = examine(config, capsys, code=1)["database"]
        assert "it belongs to mainnet" in found["found"]
        assert "--network mainnet" in found["fix"]
        path.write_text("no database, " * 100)
        assert "no SQLite database" in examine(config, capsys, code=1)["database"]["found"]
        path.unlink()
        path.with_name("waypost.db-reserve").unlink()
        path.parent.rmdir()
        path.parent.write_text("a file")
        assert "no folder" in examine(config, capsys, code=1)["database"]["found"]


def test_a_wrong_configuration_is_a_finding_for_each_mistake(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text("[http]\nport = 99999\n[grpc]\nport = 99999\n")
    assert main(["doctor", "--config", str(config), "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [one["found"] for one in checks] == ["http.port = 99999", "grpc.port = 99999"]
    assert all(one["fix"] for one in checks)


def test_a_devnet_that_does_not_run_is_said_with_how_to_start_it(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(f'[storage]\nurl = "sqlite:///{config.parent}/waypost.db"\n')
    found = examine(config, capsys, code=1, arguments=("--network", "devnet"))
    assert found["devnet"]["state"] == "failed"
    assert "waypost serve --network devnet" in found["devnet"]["fix"]
    assert not any(check.startswith("chain ") for check in found)


def test_what_hangs_is_given_up(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LONGEST_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        write(config, f"http://127.0.0.1:{silent.getsockname()[1]}/SECRET")
        found = examine(config, capsys, code=1)["chain ethereum"]
    assert found["found"] == "no answer within 0.2 s"
