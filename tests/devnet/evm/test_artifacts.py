"""The devnet's own contracts: compiled once by whoever comes first, and a compiler that fails is named."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from devnet.evm import artifacts
from devnet.install import InstallError

if TYPE_CHECKING:
    from pathlib import Path


def test_those_who_come_together_compile_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def compile_slowly(sources: list[Path]) -> dict[str, str]:
        compiled.append(sources)
        time.sleep(0.2)
        return {path.stem: "5b" for path in sources}

    monkeypatch.setattr(artifacts, "STATE", tmp_path)
    monkeypatch.setattr(artifacts, "cache_folder", lambda kind, digest: tmp_path)
    monkeypatch.setattr(artifacts, "_compile", compile_slowly)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: artifacts.stand_ins.__wrapped__(), range(3)))
    assert len(compiled) == 1
    assert found[0] == found[1] == found[2]
    assert found[0]["prober"] == bytes.fromhex("5b")


def test_a_source_that_does_not_compile_is_named() -> None:
    with pytest.raises(InstallError, match=r"devnet/contracts do not compile: .*no_such_contract"):
        artifacts._compile_beside([artifacts.CONTRACTS / "no_such_contract.vy"])
