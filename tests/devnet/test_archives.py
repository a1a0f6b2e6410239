"""Archives of single protocols: pinned by digest, only the listed members kept, one that fails costs its own alone."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from devnet import archives, install
from devnet.evm import protocol, solidity
from devnet.evm.protocol import Protocol, prepare
from devnet.install import InstallError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from devnet.evm.builder import Builder
    from devnet.evm.world import Chain

FILES = {"package/out/Pool.json": b"{}", "package/out/Big.json": b"[]", "package/src/a/A.sol": b"contract A {}"}


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


ARCHIVE = packed(FILES)


def row(**members: Any) -> dict[str, Any]:
    digest = "sha512-" + base64.b64encode(hashlib.sha512(ARCHIVE).digest()).decode()
    return {"package": "@some/one", "version": "1.2.3", "integrity": digest, "folder": "package/out", **members}


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[dict[str, dict[str, Any]]], list[str]]:
    """Sets the rows; what was fetched is in the list that it returns. The package @some/gone cannot be had."""
    asked: list[str] = []

    def npm(folder: Path, *arguments: str) -> None:
        asked.append(arguments[1])
        if arguments[1].startswith("@some/gone"):
            raise InstallError("`npm pack` failed (ENOTFOUND)")
        (folder / "one.tgz").write_bytes(ARCHIVE)

    def with_rows(rows: dict[str, dict[str, Any]]) -> list[str]:
        monkeypatch.setattr(archives, "archive_table", lambda: rows)
        return asked

    monkeypatch.setattr(install, "npm", npm)
    monkeypatch.setattr(archives, "STATE", tmp_path)
    return with_rows


def test_only_listed_members_are_kept(registry: Callable[..., list[str]]) -> None:
    asked = registry({"one": row(members=["Pool.json"])})
    assert not archives.is_fetched("one")
    folder = archives.fetch_archive("one")
    assert (folder / "Pool.json").read_bytes() == b"{}"
    assert {path.name for path in folder.iterdir()} == {"Pool.json", "complete", ".npmrc"}
    assert archives.fetch_archive("one") == folder
    assert asked == ["@some/one@1.2.3"]  # once


def test_a_whole_folder_is_kept_where_no_member_is_listed(registry: Callable[..., list[str]]) -> None:
    registry({"one": row(folder="package/src")})
    folder = archives.fetch_archive("one")
    assert (folder / "a" / "A.sol").read_bytes() == b"contract A {}"
    assert not list(folder.rglob("*.json"))


def test_another_archive_than_the_pinned_one_is_refused(registry: Callable[..., list[str]]) -> None:
    registry({"one": row(members=["Pool.json"], integrity="sha512-AAAA")})
    with pytest.raises(InstallError, match="not the pinned one"):
        archives.fetch_archive("one")
    assert not archives.is_fetched("one")


@pytest.mark.parametrize("member", ["Missing.json", "../src/a/A.sol"])
def test_a_member_that_is_not_there_is_named(registry: Callable[..., list[str]], member: str) -> None:
    registry({"one": row(members=[member])})
    with pytest.raises(InstallError, match="missing in the npm archive of one"):
        archives.fetch_archive("one")
    assert not archives.is_fetched("one")


def test_a_protocol_whose_archive_cannot_be_had_is_left_out_and_named(registry: Callable[..., list[str]]) -> None:
    asked = registry({"one": row(members=["Pool.json"]), "gone": row(package="@some/gone")})

    async def build(chain: Chain, builder: Builder) -> None:
        raise AssertionError

    def made_of(name: str, chain: str, *needed: str) -> Protocol:
        return Protocol(name, "original", "", (chain,), build, archives=needed)

    protocols = (
        made_of("here", "base", "one"),
        made_of("not here", "base", "one", "gone"),
        made_of("elsewhere", "linea", "gone"),
    )
    lines: list[str] = []
    left_out = prepare(protocols, ["base"], lines.append)
    assert left_out == {"not here": "`npm pack` failed (ENOTFOUND)"}
    assert [each.is_ready for each in protocols] == [True, False, False]
    assert sorted(asked) == ["@some/gone@1.2.3", "@some/one@1.2.3"]
    assert any("not here is left out" in line for line in lines)
    assert prepare(protocols[:1], ["base"], lines.append) == {}
    assert len(asked) == 2  # what is here is not asked for again


def test_sources_are_taken_with_what_they_import(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "A.sol").write_text('import {B} from "./a/B.sol";\nimport "./a/C.sol";\n')
    (tmp_path / "a" / "B.sol").write_text('import {\n    C,\n    D\n} from "../a/C.sol";\n')
    (tmp_path / "a" / "C.sol").write_text("contract C {}\n")
    (tmp_path / "a" / "Other.sol").write_text("contract Other {}\n")
    assert set(solidity._sources(tmp_path, ["A.sol"])) == {"A.sol", "a/B.sol", "a/C.sol"}
    with pytest.raises(InstallError, match=r"no Gone\.sol"):
        solidity._sources(tmp_path, ["Gone.sol"])


def test_libraries_are_taken_by_the_name_that_they_are_imported_by(tmp_path: Path) -> None:
    own, library = tmp_path / "own", tmp_path / "library"
    (library / "utils").mkdir(parents=True)
    own.mkdir()
    (own / "A.sol").write_text('import {B} from "@some/library/utils/B.sol";\n')
    (library / "utils" / "B.sol").write_text('import {C} from "../C.sol";\n')
    (library / "C.sol").write_text("contract C {}\n")
    found = solidity._sources(own, ["A.sol"], {"@some/library": library})
    assert set(found) == {"A.sol", "@some/library/utils/B.sol", "@some/library/C.sol"}
    with pytest.raises(InstallError, match=r"no @some/library/utils/B\.sol"):
        solidity._sources(own, ["A.sol"])


def test_every_row_is_of_use() -> None:
    from devnet.evm.placements import PROTOCOLS

    units = {name for each in PROTOCOLS for name in each.sources}
    assert units == set(solidity.unit_table())
    of_units = {row[key] for row in solidity.unit_table().values() for key in ("compiler", "sources")}
    of_units |= {archive for row in solidity.unit_table().values() for archive in row.get("libraries", {}).values()}
    assert of_units | {name for each in PROTOCOLS for name in each.archives} == set(archives.archive_table())
    assert protocol.prepare((), [], print) == {}
