"""Removes secrets from texts and values: URLs, API keys, bearer tokens.

Endpoint URLs hold their providers' keys and the JSON face's paths hold callers' keys, so nothing that looks like
either leaves the process in a log, an error, a metric or a trace (design section 5).
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from types import TracebackType

    from structlog.typing import EventDict, Processor, WrappedLogger

    from runtime.settings import LogSettings


URL = "<url>"
KEY = "<key>"

# Order matters: a URL swallows the key in its path.
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[a-z][a-z0-9+.-]{0,30}(?:://|%3a%2f%2f)[^\s'\"<>`]+", re.IGNORECASE), URL),
    # aiohttp names the host of a connection that failed, asyncio its socket address.
    (re.compile(r"(?<=\bhost=')[^']*"), URL),
    (re.compile(r"(?<=\bhost )[^\s:]+:\d+|\('[^'\s]+', \d+(?:, \d+, \d+)?\)"), URL),
    (re.compile(r"/[A-Za-z0-9_%.~-]+/v1(?![0-9A-Za-z_])"), f"/{KEY}/v1"),
    (re.compile(r"wp_[A-Za-z0-9_-]{6,}"), KEY),
    (re.compile(r"\b(bearer|basic)\s+(?!<key>)[A-Za-z0-9._~+/=-]+", re.IGNORECASE), rf"\1 {KEY}"),
    (
        re.compile(
            r"(?i)(\b(?:x-api-key|x-waypost-credential|x-waypost-principal|authorization|api[_-]?key|password|credential)"
            r"['\"]?\s*[:=,]\s*['\"]?)(?!<|bearer|basic)[^\s'\",;&)\]}]+"
        ),
        rf"\1{KEY}",
    ),
)

# Member, header and metadata names whose value is a secret whatever it looks like.
_SECRET_NAME = re.compile(
    r"(?i)(^|[_-])(key|keys|token|secret|password|passwd|credential|credentials|authorization|cookie|principal)$|api[_-]?key"
)

_DEPTH = 8
# Looking through a character takes 0.4 us: a megabyte out of an exception would hold up all calls.
_LONGEST = 64 * 1024
_BLANKS = " \n\t"


def redact_text(text: str) -> str:
    """Return the text with every URL as `<url>` and every key, token and path key as `<key>`; a very long one cut."""
    left_out = 0
    if len(text) > _LONGEST:
        # Between words, so that no half of a key stays behind.
        start = text[:_LONGEST]
        end = max(map(start.rfind, _BLANKS)) + 1
        left_out, text = len(text) - end, start[:end]
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return f"{text}... ({left_out} more characters)" if left_out else text


def redact(value: Any, depth: int = _DEPTH) -> Any:
    """Return the value with `redact_text` applied to every text in it, keys of mappings included.

    Numbers, booleans and None pass unchanged; mappings become dicts, sequences and sets lists; bytes, exceptions and
    other objects become their redacted text. Nesting beyond eight levels is cut off as `...`.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return redact_text(bytes(value).decode("utf-8", "replace"))
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        return {redact_text(str(key)): redact_member(str(key), member, depth - 1) for key, member in value.items()}
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return [redact_text(value[0]), redact_member(value[0], value[1], depth - 1)]
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(member, depth - 1) for member in value]
    return redact_text(describe(value))


def redact_member(name: str, value: Any, depth: int = _DEPTH) -> Any:
    """Return a named value redacted; wholly hidden when the name is that of a secret."""
    if isinstance(value, str | bytes) and _SECRET_NAME.search(name):
        return KEY
    return redact(value, depth)


def describe(value: object) -> str:
    """Return an object's text; one whose text cannot be had is named by its type."""
    try:
        return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value)
    except Exception:
        return f"<{type(value).__name__}>"


# Everything goes one way: structlog loggers, the standard library's loggers (aiohttp, asyncio, grpc, sqlalchemy),
# warnings and uncaught exceptions all become one event dictionary, which is redacted as a whole just before it is
# rendered. HTTP access logs are off, because a path holds the caller's key (decisions section 6). Lines that clients
# cause are bounded (`LogLimit`).

SECONDS = 60.0
CAPACITY = 4096
_OTHERS = object()


class LogLimit:
    """Decides which of many equal events are written: for each key one in `seconds`.

    At most `capacity` keys are held. Those beyond it share one line while none of the others is old enough to be
    dropped, so that neither memory nor the log grows with the number of clients.
    """

    def __init__(
        self, seconds: float = SECONDS, capacity: int = CAPACITY, clock: Callable[[], float] = monotonic
    ) -> None:
        self._seconds = seconds
        self._capacity = capacity
        self._clock = clock
        # By key, longest ago first: when its last line was written, and how many events have not been since.
        self._written: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._written)

    def count(self, key: Hashable) -> int | None:
        """Count an event; return how many of its key went unwritten since the last line, None to leave it unwritten."""
        now = self._clock()
        if key not in self._written and len(self._written) >= self._capacity:
            oldest, (then, _) = next(iter(self._written.items()))
            if now - then >= self._seconds:
                del self._written[oldest]
            else:
                key = _OTHERS
        then, unwritten = self._written.get(key, (float("-inf"), 0))
        if now - then < self._seconds:
            self._written[key] = (then, unwritten + 1)
            return None
        self._written[key] = (now, 0)
        self._written.move_to_end(key)
        return unwritten


LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

# Libraries that log much below this level.
QUIET = {
    "asyncio": logging.WARNING,
    "aiosqlite": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "alembic": logging.WARNING,
    # A server of grpc.aio that was never started logs itself, at the level debug, while it is deallocated: a handler
    # that keeps the record (a queue, pytest's capture) keeps a freed object, and the process is killed later.
    "grpc._cython.cygrpc": logging.INFO,
}
OFF = ("aiohttp.access",)

# Set by this module itself, not by callers: nothing in them to redact.
_PLAIN = frozenset({"timestamp", "level"})


class LoggedCall(Protocol):
    """A call as its lines name it; `deadline` is in seconds of the monotonic clock, None before it is known."""

    request_id: str
    deadline: float | None

    @property
    def trace_id(self) -> str:
        """The id of its trace, empty where it is not traced."""
        ...


# The same list for structlog and `takes_lines`: what captures lines empties it.
_processors: list[Processor] = []
CALL: ContextVar[LoggedCall] = ContextVar("waypost_request")
"""The call that the running task serves."""


def name_call(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Add the ids of the request that a line is about, and of its trace, to the line."""
    call = CALL.get(None)
    # What a call has begun in the background may outlive it, and is nothing of its own then.
    if call is not None and (call.deadline is None or monotonic() < call.deadline + 1.0):
        event.setdefault("request_id", call.request_id)
        if call.trace_id:
            event.setdefault("trace_id", call.trace_id)
    return event


def route_logs() -> None:
    """Send structlog's events, redacted and as text, to the standard library's loggers.

    This holds from the import of this module on, so that nothing is printed raw by a process (a test, a script) that
    never calls `configure_logs`.
    """
    _use(
        structlog.contextvars.merge_contextvars,
        name_call,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.ExceptionRenderer(),
        redact_event,
        _as_text,
    )


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger; its events carry `logger` = name."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def takes_lines(name: str, level: int) -> bool:
    """Return whether a line of the level would be written: making one that is dropped costs five times as much.

    What stands in place of the processors, as in tests, is given every line.
    """
    is_filtered = bool(_processors) and _processors[0] is structlog.stdlib.filter_by_level
    return not is_filtered or logging.getLogger(name).isEnabledFor(level)


def redact_event(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Return the event with every member redacted; the last processor before rendering."""
    return {name: value if name in _PLAIN else redact_member(name, value) for name, value in event.items()}


def configure_logs(settings: LogSettings, stream: TextIO | None = None) -> logging.Handler:
    """Send all logs of the process to `stream` (standard error) and return the handler that writes them.

    Replaces whatever was configured before. Afterwards uncaught exceptions, also of threads, are logged too.
    """
    target = sys.stderr if stream is None else stream
    console = settings.format == "console" or (settings.format == "auto" and target.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        name_call,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    _use(*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter)
    handler = EventHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.ExceptionRenderer(),
                redact_event,
                _console(target) if console else structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    root = logging.getLogger()
    for previous in [handler for handler in root.handlers if isinstance(handler, EventHandler)]:
        root.removeHandler(previous)
    root.addHandler(handler)
    set_log_level(settings)
    for name in OFF:
        logging.getLogger(name).disabled = True
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_thread
    return handler


def set_log_level(settings: LogSettings) -> None:
    """Log what the settings' level asks for from now on."""
    level = LEVELS[settings.level]
    logging.getLogger().setLevel(level)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(least, level))


class EventHandler(logging.StreamHandler[TextIO]):
    """Writes events; one that cannot be rendered is replaced by a line that names its logger alone."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Report that a record was lost, without its text: it has not been redacted."""
        try:
            self.stream.write(f'{{"event": "a log record could not be rendered", "logger": "{record.name}"}}\n')
            self.flush()
        except (OSError, ValueError):
            return


def _use(*processors: Processor) -> None:
    _processors[:] = [structlog.stdlib.filter_by_level, *processors]
    structlog.configure(
        processors=_processors,
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _as_text(logger: WrappedLogger, method: str, event: EventDict) -> tuple[tuple[str], dict[str, bool]]:
    text = structlog.processors.KeyValueRenderer(key_order=["event"])(logger, method, event)
    # The traceback is in the text, redacted; the standard library shall not print it again.
    return (text,), {"exc_info": False}


def _console(stream: TextIO) -> Processor:
    # The plain formatter takes the traceback as the text that has been redacted.
    return structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback)


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
    if issubclass(kind, KeyboardInterrupt):
        return
    get_logger("waypost").critical("uncaught exception", exc_info=(kind, error, trace))


def _log_thread(uncaught: threading.ExceptHookArgs) -> Any:
    if uncaught.exc_value is None or issubclass(uncaught.exc_type, SystemExit):
        return
    name = uncaught.thread.name if uncaught.thread is not None else ""
    raised = (uncaught.exc_type, uncaught.exc_value, uncaught.exc_traceback)
    get_logger("waypost").critical("uncaught exception in a thread", thread=name, exc_info=raised)


route_logs()
