"""The console: the built page that browsers get at `/`, and its files (docs/decisions/0076).

All of it is read, hashed and compressed once, beside the event loop. Files lie below their hash, so that browsers keep
them for ever; what is asked for is looked up among known paths, never on the disk.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import hdrs

from transcoder.pages import BY_CODING, BY_TYPE, GZIP, Page, accepts_gzip, names_tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp import web

FOLDER = Path(__file__).parent / "console"
PLACE = "/-/console/"
"""Below it the files lie; no key is `-`."""
INDEX = "index.html"

HTML = "text/html"
TEXT = "text/plain"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_OTHER = "application/octet-stream"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self' {socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOR_EVER = "public, max-age=31536000, immutable"

_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_UTF8 = frozenset({"charset=utf-8", 'charset="utf-8"'})


class File(NamedTuple):
    """One file as it is sent; `packed` is its gzip form, None where that is not shorter."""

    content_type: str
    text: bytes
    packed: bytes | None
    digest: str
    cached: str


class ConsoleFiles:
    """The built files of a folder, for pages of one profile (`mainnet` or `devnet`)."""

    def __init__(self, profile: str, folder: Path = FOLDER) -> None:
        self._profile = profile
        self._folder = folder
        self._files: dict[str, File] = {}

    async def prepare(self, _: object = None) -> None:
        """Read the files, beside the event loop. Raises FileNotFoundError where they were not built."""
        self._files = await asyncio.to_thread(self._read)

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def wanted(self, request: web.BaseRequest) -> bool:
        """Return whether the request prefers the page to the text at the same address."""
        return "/" in self._files and prefers_html(request.headers.getall(hdrs.ACCEPT, ()))

    def answer(self, request: web.BaseRequest, base: str) -> Page:
        """Return the file at the request's path, which must be one of them; `base` is where the page was asked for."""
        path = request.rel_url.raw_path
        file, varies = self._files[path], BY_TYPE if path == "/" else BY_CODING
        packed = file.packed if accepts_gzip(request.headers.get(hdrs.ACCEPT_ENCODING)) else None
        tag = f'"{file.digest}{"" if packed is None else "-gzip"}"'
        headers = {
            hdrs.ETAG: tag,
            hdrs.CACHE_CONTROL: file.cached,
            # Safari does not count sockets among what 'self' allows.
            "Content-Security-Policy": _POLICY.format(socket="ws" + base.removeprefix("http")),
            **_ALWAYS,
        }
        if names_tag(request.headers.get(hdrs.IF_NONE_MATCH), tag):
            return Page(304, file.content_type, None, headers, varies, own=True)
        if packed is None:
            return Page(200, file.content_type, file.text, headers, varies, own=True)
        return Page(200, file.content_type, packed, {**headers, hdrs.CONTENT_ENCODING: GZIP}, varies, own=True)

    def _read(self) -> dict[str, File]:
        texts = {
            path.relative_to(self._folder).as_posix(): path.read_bytes()
            for path in sorted(self._folder.rglob("*"))
            if path.is_file()
        }
        if INDEX not in texts:
            raise FileNotFoundError(f"the console was not built: there is no {self._folder / INDEX}")
        place = PLACE + _hash(texts) + "/"
        page = texts.pop(INDEX).replace(b'"./', f'"{place}'.encode())
        page = page.replace(b"__PROFILE__", escape(self._profile).encode())
        files = {place + name: _file(name, text, _FOR_EVER) for name, text in texts.items()}
        return {"/": _file(INDEX, page, "no-cache"), **files}


def _hash(texts: dict[str, bytes]) -> str:
    """Return what differs between two folders of which any name or content differs."""
    whole = sha256()
    for name, text in texts.items():
        for part in (name.encode(), text):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()[:16]


def _file(name: str, text: bytes, cached: str) -> File:
    packed = gzip.compress(text, 9, mtime=0)
    content_type = _TYPES.get(Path(name).suffix, _OTHER)
    return File(content_type, text, packed if len(packed) < len(text) else None, sha256(text).hexdigest()[:32], cached)


def prefers_html(accept: Iterable[str]) -> bool:
    """Return whether Accept headers prefer HTML to plain text (RFC 9110, section 12.5.1); without one they do not."""
    weights: dict[str, float] = {}
    for entry in ",".join(accept).lower().split(","):
        kind, *parameters = (part.strip() for part in entry.split(";"))
        given = [one.removeprefix("q=") for one in parameters if one.startswith("q=")] or ["1"]
        others = [one for one in parameters if not one.startswith("q=") and one not in _UTF8]
        # Of other parameters what is sent has none; what cannot be read says nothing.
        if not others and _WEIGHT.fullmatch(given[0]):
            weights[kind] = float(given[0])
    html, text = (
        next((weights[one] for one in (kind, kind.partition("/")[0] + "/*", "*/*") if one in weights), 0.0)
        for kind in (HTML, TEXT)
    )
    return html > text
