"""The console's files as browsers get them: which answer is chosen, its headers, what is kept, what is not there."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from yarl import URL

from tests.transcoder.scripted import Face, Options, Server, serving
from transcoder.console_files import FOLDER, ConsoleFiles, prefers_html
from transcoder.pages import HOME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}
PACKED = {"Accept-Encoding": "gzip, deflate, br"}
SCRIPT = b'import("./Chains.js");' + b"/* long enough to be shorter when it is compressed */" * 9
FILES = {
    "index.html": b'<meta name="waypost-profile" content="__PROFILE__"><script type="module" src="./assets/index.js">'
    b'</script><link rel="stylesheet" href="./assets/index.css">',
    "assets/index.js": SCRIPT,
    "assets/index.css": b"a{}",
    "licences.txt": "Licences ©".encode(),
    "assets/font.woff2": b"\x00\x01",
    "assets/unknown.kind": b"?",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    return folder


class Browser:
    """Asks a face by GET, with the headers that a test gives alone."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self.base = face.base

    async def get(self, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes, Any]:
        asked = self._face.session.request(
            method,
            URL(self.base + path, encoded=True),
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
        )
        async with asked as response:
            return response.status, await response.read(), response.headers

    async def place(self) -> str:
        """Return the folder that the page's files are in."""
        _, page, _ = await self.get(**BROWSER)
        found = re.search(rb'"(/-/console/[0-9a-f]{16}/)assets/', page)
        assert found is not None, page
        return found[1].decode()


@pytest_asyncio.fixture(loop_scope="session")
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    console = ConsoleFiles("devnet", write(tmp_path, FILES))
    async with serving(Options(cors_origins=("*",)), Server(), console=console) as face:
        yield Browser(face)


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        ((), False),
        (("",), False),
        (("*/*",), False),
        (("text/*",), False),
        (("application/json",), False),
        (("text/plain, text/html",), False),
        (("text/html, */*",), False),
        (("text/html;q=0.5, text/plain;q=0.5, */*;q=0.1",), False),
        (("text/html;q=0.3, text/*;q=0.7",), False),
        (("text/html;q=0, */*",), False),
        (("text/html;level=1, */*;q=0.8",), False),
        (("text/html;q=high, */*;q=0.1",), False),
        (("text/html;q=2",), False),
        ((BROWSER["Accept"],), True),
        (("text/html",), True),
        (("TEXT/HTML ; Q=0.9 , */*;q=0.8",), True),
        (("text/html;charset=utf-8, */*;q=0.8",), True),
        (("text/html, text/plain;q=0",), True),
        (("*/*, text/plain;q=0.5",), True),
        (("text/*, text/plain;q=0.999",), True),
        (("image/png", "text/html;q=0.001"), True),
    ],
)
def test_the_page_is_for_who_prefers_html_to_plain_text(accept: tuple[str, ...], html: bool) -> None:
    assert prefers_html(accept) is html


async def test_others_get_the_text_as_it_was(browser: Browser) -> None:
    text = HOME.format(base=browser.base).encode()
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        status, body, headers = await browser.get(**accept)
        assert (status, body) == (200, text)
        assert headers["Content-Type"] == "text/plain; charset=utf-8"
        assert headers["Vary"] == "Accept, Accept-Encoding"
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert "Content-Security-Policy" not in headers


async def test_the_page_names_its_files_and_its_profile(browser: Browser) -> None:
    status, body, headers = await browser.get(**BROWSER)
    place = await browser.place()
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Vary"] == "Accept, Accept-Encoding"
    assert headers["Cache-Control"] == "no-cache"
    expected = FILES["index.html"].replace(b"./", place.encode()).replace(b"__PROFILE__", b"devnet")
    assert body == expected
    status, nothing, same = await browser.get(method="HEAD", **BROWSER)
    assert (status, nothing) == (200, b"")
    assert {name for name in headers if headers[name] != same[name]} <= {"Date", "X-Request-ID"}


async def test_files_are_kept_for_ever_under_their_hash(browser: Browser) -> None:
    place = await browser.place()
    types = {
        "assets/index.js": "text/javascript; charset=utf-8",
        "assets/index.css": "text/css; charset=utf-8",
        "licences.txt": "text/plain; charset=utf-8",
        "assets/font.woff2": "font/woff2",
        "assets/unknown.kind": "application/octet-stream",
    }
    for name, content_type in types.items():
        status, body, headers = await browser.get(place + name)
        assert (status, body) == (200, FILES[name])
        assert headers["Content-Type"] == content_type
        assert headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert headers["Vary"] == "Accept-Encoding"


async def test_a_client_that_has_a_file_or_takes_gzip_gets_less(browser: Browser) -> None:
    place = await browser.place()
    for path, headers, varying in (
        ("/", BROWSER, "Accept, Accept-Encoding"),
        (f"{place}assets/index.js", {}, "Accept-Encoding"),
    ):
        _, plain, whole = await browser.get(path, **headers)
        _, unpacked, packed = await browser.get(path, **headers, **PACKED)
        assert "Content-Encoding" not in whole
        assert packed["Content-Encoding"] == "gzip"
        assert unpacked == plain
        assert int(packed["Content-Length"]) == len(gzip.compress(plain, 9)) < len(plain)
        assert whole["ETag"] != packed["ETag"]
        assert whole["Vary"] == varying
        for coding, tag in (({}, whole["ETag"]), (PACKED, packed["ETag"])):
            status, nothing, again = await browser.get(path, **headers, **coding, If_None_Match=f'"x", W/{tag}')
            assert (status, nothing) == (304, b"")
            assert (again["ETag"], again["Cache-Control"]) == (tag, whole["Cache-Control"])
            assert again["Vary"] == varying
            assert again["Content-Security-Policy"] == whole["Content-Security-Policy"]
            assert not {"Content-Encoding", "Content-Type"} & set(again)
        assert (await browser.get(path, **headers, **PACKED, If_None_Match=whole["ETag"]))[0] == 200
    # It would be no shorter.
    assert "Content-Encoding" not in (await browser.get(f"{place}assets/index.css", **PACKED))[2]


async def test_every_answer_has_the_headers_that_confine_the_page(browser: Browser) -> None:
    place = await browser.place()
    socket = browser.base.replace("http://", "ws://")
    for path in ("/", f"{place}assets/index.js", f"{place}licences.txt"):
        _, _, headers = await browser.get(path, **BROWSER, Origin="https://other.example")
        assert headers["Content-Security-Policy"] == POLICY.format(socket)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Request-Id"]
        assert not [name for name in headers if name.startswith("Access-Control-")]


async def test_listed_origins_do_not_read_the_page_either(tmp_path: Path) -> None:
    options = Options(cors_origins=("https://app.example",))
    async with serving(options, Server(), console=ConsoleFiles("mainnet", write(tmp_path, FILES))) as face:
        for origin in ("https://app.example", "https://other.example"):
            _, _, headers = await Browser(face).get(**BROWSER, Origin=origin)
            assert headers["Vary"] == "Accept, Accept-Encoding"
            assert "Access-Control-Allow-Origin" not in headers
            _, _, headers = await Browser(face).get(Origin=origin)
            assert headers["Vary"] == "Origin, Accept, Accept-Encoding"
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    ("host", "socket"),
    [
        ("gateway.example:8443", "ws://gateway.example:8443"),
        ("[::1]:8080", "ws://[::1]:8080"),
        ("evil; script-src *", "ws://localhost"),
        ("a b", "ws://localhost"),
        ("x'\"><script>", "ws://localhost"),
    ],
)
async def test_the_policy_names_the_pages_own_sockets_alone(browser: Browser, host: str, socket: str) -> None:
    _, page, headers = await browser.get(**BROWSER, Host=host)
    assert headers["Content-Security-Policy"] == POLICY.format(socket)
    assert host.encode() not in page


async def test_behind_a_proxy_with_tls_sockets_are_encrypted(tmp_path: Path) -> None:
    options = Options(trusted_proxies=("127.0.0.0/8",))
    async with serving(options, Server(), console=ConsoleFiles("mainnet", write(tmp_path, FILES))) as face:
        _, _, headers = await Browser(face).get(**BROWSER, Host="gw.example", X_Forwarded_Proto="https")
    assert headers["Content-Security-Policy"] == POLICY.format("wss://gw.example")


@pytest.mark.parametrize(
    "path",
    [
        "/-/",
        "/-/console/",
        "/-/console/0123456789abcdef/assets/index.js",
        "/-/console/index.html",
        "{place}",
        "{place}index.html",
        "{place}assets/none.js",
        "{place}assets/../assets/index.js",
        "{place}../../../../../../etc/passwd",
        "{place}..%2f..%2f..%2fetc%2fpasswd",
        "{place}assets%2findex.js",
        "{place}assets//index.js",
        "{place}assets/index.js%00",
    ],
)
async def test_nothing_else_is_there(browser: Browser, path: str) -> None:
    status, body, headers = await browser.get(path.format(place=await browser.place()), **BROWSER)
    assert (status, headers["Content-Type"]) == (404, "application/json")
    assert json.loads(body)["error"]["data"]["reason"] == "NOT_FOUND"


async def test_files_are_only_read_and_their_place_is_no_key(browser: Browser) -> None:
    place = await browser.place()
    for path in ("/", f"{place}assets/index.js"):
        status, body, headers = await browser.get(path, method="POST", **BROWSER)
        assert (status, headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
        assert json.loads(body)["error"]["code"] == 400
    status, body, _ = await browser.get("/-/v1", method="POST")
    assert (status, json.loads(body)["error"]["data"]["reason"]) == (401, "KEY_INVALID")


async def test_without_the_console_everything_is_as_before(face: Face) -> None:
    status, body, headers = await Browser(face).get(**BROWSER)
    assert (status, body) == (200, HOME.format(base=face.base).encode())
    assert "Vary" not in headers
    assert (await Browser(face).get("/-/console/0123456789abcdef/assets/index.js"))[0] == 404


async def test_the_place_is_another_one_after_any_change(tmp_path: Path) -> None:
    changes: list[dict[str, bytes]] = [
        {},
        {"assets/index.css": b"b{}"},
        {"licences.txt": b""},
        {"index.html": FILES["index.html"] + b" "},
        {"assets/more.js": b""},
    ]
    moved = {name: text for name, text in FILES.items() if name != "licences.txt"} | {
        "licence.txt": FILES["licences.txt"]
    }
    places = []
    for number, files in enumerate([*({**FILES, **change} for change in changes), moved, FILES]):
        console = ConsoleFiles("devnet", write(tmp_path / str(number), files))
        async with serving(Options(), Server(), console=console) as face:
            places.append(await Browser(face).place())
            # What is served is what was there at the start.
            (tmp_path / str(number) / "assets/index.css").write_bytes(b"later{}")
            assert (await Browser(face).get(f"{places[-1]}assets/index.css"))[1] == files["assets/index.css"]
    assert places[0] == places[-1]
    assert len(set(places)) == len(places) - 1


async def test_the_profile_is_text_in_the_page(tmp_path: Path) -> None:
    async with serving(Options(), Server(), console=ConsoleFiles('"><b>&', write(tmp_path, FILES))) as face:
        _, page, _ = await Browser(face).get(**BROWSER)
    assert b'content="&quot;&gt;&lt;b&gt;&amp;"' in page


async def test_a_tree_without_built_files_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="was not built"):
        await ConsoleFiles("devnet", tmp_path).prepare()


async def test_the_built_page_is_whole() -> None:
    """What this tree's own page names is served, the page holds no script, style or address of another origin."""
    async with serving(Options(), Server(), console=ConsoleFiles("devnet", FOLDER)) as face:
        browser = Browser(face)
        _, page, _ = await browser.get(**BROWSER)
        text = page.decode()
        assert '<meta name="waypost-profile" content="devnet">' in text
        assert "__" not in text
        named = re.findall(r' (?:src|href)="([^"]*)"', text)
        assert named
        for address in named:
            if not address.startswith("data:image/"):
                assert address.startswith(await browser.place())
                assert (await browser.get(address))[0] == 200
        assert not re.search(r"<style|<script(?![^>]* src=)| style=| on[a-z]+=", text)
        for file in FOLDER.rglob("*"):
            if file.is_file() and file.name != "index.html":
                path = await browser.place() + file.relative_to(FOLDER).as_posix()
                status, body, headers = await browser.get(path, **PACKED)
                assert (status, body) == (200, file.read_bytes())
                assert headers["Content-Type"] != "application/octet-stream"
