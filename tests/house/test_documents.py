"""What documents name exists: files, pages, commands, targets of make, variables, settings, metrics, decisions."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from cli.__main__ import COMMANDS
from runtime.settings import Settings
from tests.each import each

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/[\w.-]*")
_FILE = re.compile(r"[\w.-]+\.(?:py|toml|md|json|txt|proto|in)")
_COMMAND = re.compile(r"(?:\./|`)waypost ([a-z]\w*)")
_TARGET = re.compile(r"(?:`| {4})make ([a-z-]+)|^make ([a-z-]+) +#", re.MULTILINE)
_VARIABLE = re.compile(r"\bWAYPOST_[A-Z0-9_]*[A-Z0-9]\b")
_SETTING = re.compile(r"`([a-z_]+)\.([a-z_]+)`")
_METRIC = re.compile(r"`(waypost_[a-z_]+?)(?:_total)?(?:\{[a-z, ]*\})?`")
# What is made on the reader's machine, or by it.
_MADE = {".bench", ".devnet", "waypost.toml", "waypost.db"}
# Somebody else's file.
_FOREIGN = {("docs/chains/starknet.md", "LICENSE.txt")}


@cache
def tracked() -> frozenset[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return frozenset(line for line in listed.stdout.splitlines() if (ROOT / line).exists())


@cache
def folders() -> frozenset[str]:
    return frozenset(str(parent) for file in tracked() for parent in Path(file).parents)


@cache
def sources() -> str:
    """Return all that the processes are made of, in one text."""
    ours = ("runtime/", "server/", "transcoder/", "cli/", "devnet/", "bench/", "scripts/")
    return "\n".join((ROOT / file).read_text() for file in tracked() if file.endswith(".py") and file.startswith(ours))


def exists(page: str, path: str) -> bool:
    """Whether a path is in the repository, from its root or from the page's folder."""
    near = (ROOT / page).parent / path
    places = [path.rstrip("/")]
    if near.resolve().is_relative_to(ROOT):
        places.append(str(near.resolve().relative_to(ROOT)))
    return any(place in tracked() or place in folders() for place in places)


PAGES = sorted(file for file in tracked() if file.endswith(".md") and not file.startswith("tests/transcoder/openrpc/"))
each_page = each(PAGES)


@each_page
def test_links_lead_somewhere(page: str) -> None:
    for target in _LINK.findall((ROOT / page).read_text()):
        path = target.partition("#")[0]
        assert "://" in target or not path or exists(page, path), target


@each_page
def test_files_and_folders_that_are_named_exist(page: str) -> None:
    names = {Path(file).name for file in tracked()}
    top = {file.partition("/")[0] for file in tracked() if "/" in file}
    for code in _CODE.findall((ROOT / page).read_text()):
        if code.partition("/")[0] in _MADE or (page, code) in _FOREIGN:
            continue
        if _PATH.fullmatch(code) and (code.partition("/")[0] in top or code.endswith((".py", ".toml", ".md", ".json"))):
            assert exists(page, code), code
        elif _FILE.fullmatch(code):
            assert code in names, code


@each_page
def test_commands_and_targets_that_are_named_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(_COMMAND.findall(text)) <= COMMANDS.keys()
    assert {quoted or listed for quoted, listed in _TARGET.findall(text)} <= targets


@each_page
def test_variables_and_settings_that_are_named_exist(page: str) -> None:
    text, known = (ROOT / page).read_text(), (ROOT / "docs" / "configuration.md").read_text()
    for variable in _VARIABLE.findall(text):
        # The page of settings is written from them; a table of chains has variables for each chain.
        is_chain = variable.startswith("WAYPOST_CHAINS__")
        assert is_chain or f"`{variable}`" in known or f'"{variable}"' in sources(), variable
    for section, key in _SETTING.findall(text):
        field = Settings.model_fields.get(section)
        if field is not None and not _FILE.fullmatch(f"{section}.{key}"):
            assert key in getattr(field.annotation, "model_fields", {}), f"{section}.{key}"


@each_page
def test_metrics_that_are_named_exist(page: str) -> None:
    for metric in _METRIC.findall((ROOT / page).read_text()):
        assert f'"{metric}"' in sources(), metric


def test_modules_in_the_picture_of_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    picture = text.split("```")[1]
    named = re.findall(r"[\w/]+\.py", picture)
    # Within the server its rooms are named without it.
    near = [path for path in named if not any(place in tracked() for place in (path, f"server/{path}"))]
    assert not [path for path in near if "/" in path], near
    assert all(any(file.endswith(f"/{path}") for file in tracked()) for path in near), near
    assert len(named) > 15


def test_the_glossary_has_at_most_thirty_words() -> None:
    words = (ROOT / "docs" / "architecture.md").read_text().split("## Words")[1].split("## ")[0]
    assert 10 < len(re.findall(r"^\| (?!word |---)", words, re.MULTILINE)) <= 30


def test_every_decision_is_in_the_list_and_every_page_is_linked() -> None:
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()
    linked = {
        str(((ROOT / page).parent / target.partition("#")[0]).resolve().relative_to(ROOT))
        for page in PAGES
        for target in _LINK.findall((ROOT / page).read_text())
        if "://" not in target
    }
    for page in PAGES:
        if page.startswith("docs/decisions/0"):
            assert f"]({Path(page).name})" in index, page
        elif page.startswith("docs/"):
            assert page in linked, f"nothing links to {page}"
