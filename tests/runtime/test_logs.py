"""What is logged, by whomever, is one line of JSON on the stream, without secrets."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import structlog
from aiohttp import web

from runtime.logs import EventHandler, configure_logs, get_logger, route_logs, takes_lines
from runtime.settings import LogSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "SECRETabc123"
URL = f"https://eth.example.org/v2/{SECRET}"
ROOT = Path(__file__).parents[2]


class Capture:
    def __init__(self, stream: io.StringIO) -> None:
        self.stream = stream

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def logs(request: pytest.FixtureRequest) -> Iterator[Capture]:
    """Configure logging as a process would and put everything back afterwards."""
    hooks = (sys.excepthook, threading.excepthook)
    root = logging.getLogger()
    level, access = root.level, logging.getLogger("aiohttp.access").disabled
    stream = io.StringIO()
    handler = configure_logs(getattr(request, "param", LogSettings(format="json", level="debug")), stream)
    yield Capture(stream)
    root.removeHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(False)
    logging.getLogger("aiohttp.access").disabled = access
    sys.excepthook, threading.excepthook = hooks
    route_logs()


def test_an_event_is_one_line_of_json(logs: Capture) -> None:
    get_logger("waypost.test").info("endpoint answered", endpoint="alpha", latency_ms=3, chain="ethereum")
    (event,) = logs.events
    assert event.pop("timestamp").endswith("Z")
    assert event == {
        "event": "endpoint answered",
        "logger": "waypost.test",
        "level": "info",
        "endpoint": "alpha",
        "latency_ms": 3,
        "chain": "ethereum",
    }


def test_bound_context_is_redacted_too(logs: Capture) -> None:
    with structlog.contextvars.bound_contextvars(request_id="r-1", target=URL):
        get_logger("waypost.test").warning("failed at %s", URL, headers={"x-api-key": SECRET})
    (event,) = logs.events
    assert SECRET not in logs.text
    assert event["request_id"] == "r-1"
    assert event["event"] == "failed at <url>"
    assert event["headers"] == {"x-api-key": "<key>"}


def test_exceptions_and_their_causes_are_redacted(logs: Capture) -> None:
    try:
        try:
            raise KeyError(f"/{SECRET}/v1")
        except KeyError as error:
            raise ValueError(f"no answer from {URL}") from error
    except ValueError:
        get_logger("waypost.test").exception("read failed", endpoint="alpha")
    (event,) = logs.events
    assert SECRET not in logs.text
    assert "ValueError: no answer from <url>" in event["exception"]
    assert "Traceback" in event["exception"]


@pytest.mark.parametrize("name", ["aiohttp.client", "aiohttp.server", "asyncio", "grpc._cython.cygrpc", "sqlalchemy"])
def test_loggers_of_libraries_take_the_same_way(logs: Capture, name: str) -> None:
    try:
        raise OSError(f"cannot reach {URL}")
    except OSError:
        logging.getLogger(name).error("failed: %s %r", URL, {"url": URL}, exc_info=True)
    (event,) = logs.events
    assert SECRET not in logs.text
    assert event["logger"] == name
    assert event["level"] == "error"
    assert event["event"] == "failed: <url> {'url': '<url>'}"
    assert "cannot reach <url>" in event["exception"]


def test_extra_members_of_standard_loggers_are_kept_and_redacted(logs: Capture) -> None:
    logging.getLogger("transcoder.app").warning("failed", extra={"request_id": "r-1", "target": URL})
    (event,) = logs.events
    assert event["request_id"] == "r-1"
    assert event["target"] == "<url>"
    assert SECRET not in logs.text


async def test_a_failing_handler_and_the_access_log_show_no_key(logs: Capture) -> None:
    async def fail(request: web.Request) -> web.Response:
        raise RuntimeError(f"handling {request.path} with {URL}")

    app = web.Application()
    app.router.add_post("/{key}/v1", fail)
    runner = web.AppRunner(app)  # the access log is left at its default: the logger is off
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = runner.addresses[0]
    async with aiohttp.ClientSession() as session:
        async with session.post(f"http://127.0.0.1:{address[1]}/{SECRET}/v1") as response:
            assert response.status == 500
        with pytest.raises(aiohttp.ClientError) as caught:
            await session.post(f"http://127.0.0.1:9/{SECRET}")
        logging.getLogger("waypost.upstream").error("no node: %r", caught.value, exc_info=caught.value)
    await runner.cleanup()
    assert SECRET not in logs.text
    assert [event["logger"] for event in logs.events] == ["aiohttp.server", "waypost.upstream"]
    assert "handling /<key>/v1 with <url>" in logs.events[0]["exception"]


def test_a_record_that_cannot_be_rendered_says_nothing_of_its_text(
    logs: Capture, capsys: pytest.CaptureFixture[str]
) -> None:
    careless = logging.getLogger("careless")
    careless.propagate = False  # pytest's own handlers raise here
    handlers = [handler for handler in logging.getLogger().handlers if isinstance(handler, EventHandler)]
    careless.addHandler(handlers[0])
    careless.error("%d items from " + URL, "three")
    careless.removeHandler(handlers[0])
    assert logs.events == [{"event": "a log record could not be rendered", "logger": "careless"}]
    assert SECRET not in capsys.readouterr().err


def test_objects_are_logged_as_redacted_text(logs: Capture) -> None:
    get_logger("waypost.test").info("odd", value=OSError(URL), raw=URL.encode(), values={1, 2})
    (event,) = logs.events
    assert event["value"] == "OSError: <url>"
    assert event["raw"] == "<url>"


@pytest.mark.parametrize("logs", [LogSettings(format="json", level="warning")], indirect=True)
def test_the_level_holds_for_everyone(logs: Capture) -> None:
    get_logger("waypost.test").info("quiet")
    logging.getLogger("aiohttp.client").info("quiet")
    get_logger("waypost.test").warning("loud")
    assert [event["event"] for event in logs.events] == ["loud"]


@pytest.mark.parametrize("logs", [LogSettings(format="json", level="warning")], indirect=True)
def test_a_line_is_taken_where_it_would_be_written_and_where_lines_are_captured(logs: Capture) -> None:
    assert not takes_lines("waypost.test", logging.INFO)
    assert takes_lines("waypost.test", logging.WARNING)
    with structlog.testing.capture_logs():
        assert takes_lines("waypost.test", logging.DEBUG)
    assert not takes_lines("waypost.test", logging.INFO)


@pytest.mark.parametrize("logs", [LogSettings(format="console")], indirect=True)
def test_console_text_is_redacted_too(logs: Capture) -> None:
    try:
        raise ValueError(URL)
    except ValueError:
        get_logger("waypost.test").exception("read failed", target=URL)
    assert SECRET not in logs.text
    assert "read failed" in logs.text
    assert "ValueError: <url>" in logs.text


def test_warnings_are_logged(logs: Capture) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn(f"old option at {URL}", stacklevel=1)
    assert SECRET not in logs.text
    assert logs.events[0]["logger"] == "py.warnings"


def test_configuring_twice_writes_once(logs: Capture) -> None:
    again = io.StringIO()
    handler = configure_logs(LogSettings(format="json"), again)
    get_logger("waypost.test").info("once")
    logging.getLogger().removeHandler(handler)
    assert logs.text == ""
    assert len(again.getvalue().splitlines()) == 1


def test_nothing_is_raw_before_logs_are_configured(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise ValueError(URL)
    except ValueError:
        get_logger("waypost.test").exception("read failed", target=URL)
    assert "read failed" in caplog.text
    assert SECRET not in caplog.text
    captured = capsys.readouterr()
    assert captured.out == ""
    assert SECRET not in captured.err


CRASH = f"""
import threading
from runtime.logs import configure_logs
from runtime.settings import LogSettings
configure_logs(LogSettings(format="json"))
def fail():
    raise OSError("thread lost {URL}")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
raise ValueError("crashed at {URL}")
"""


def test_what_nobody_catches_is_logged_without_secrets(tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(CRASH)
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert SECRET not in done.stderr + done.stdout
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == [
        "uncaught exception in a thread",
        "uncaught exception",
    ]


KEEPING = """
import asyncio, gc, logging, grpc
from runtime.logs import configure_logs
from runtime.settings import LogSettings

kept = []

class Keeping(logging.Handler):
    def emit(self, record):
        kept.append(record)

async def close_servers():
    for _ in range(20):
        server = grpc.aio.server()
        await server.stop(0)
        del server

configure_logs(LogSettings(format="json", level="debug"))
logging.getLogger().addHandler(Keeping())
asyncio.run(close_servers())
others = [[object() for _ in range(18)] + [(number,) for number in range(20)] for _ in range(20_000)]
kept.clear()
others = [[object() for _ in range(18)] + [(number,) for number in range(20)] for _ in range(20_000)]
gc.collect()
"""


def test_records_may_be_kept_at_the_level_debug_without_harm() -> None:
    made = subprocess.run([sys.executable, "-c", KEEPING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
