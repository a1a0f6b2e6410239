"""`make console-test`: the page at `GET /` in an installed Chromium, on a gateway over local chains (tests/console).

A missing browser is a failure where CI is set, elsewhere the stage is left out, with a word on what to install.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from devnet.ports import free_port
from scripts import browser, console
from scripts.clients import ROOT, create_key, served

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

FOLDER = ROOT / "tests" / "console"
AXE = console.FOLDER / "node_modules" / "axe-core" / "axe.min.js"
VARIABLE = "WAYPOST_CONSOLE"
# Of a key of its own: wide enough for everything that the tests read in a row.
_RATE = "5000"


@asynccontextmanager
async def stage(chromium: str) -> AsyncIterator[dict[str, str]]:
    """Serve the local chains; yields an environment that names the gateway, a key, its metrics, the browser."""
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "waypost.toml"
        metrics = f"127.0.0.1:{free_port()}"
        config.write_text(f'[metrics]\nlisten = "{metrics}"\n')
        async with served(config) as (base, _):
            given = {
                "base": base,
                "metrics": f"http://{metrics}/metrics",
                "key": await create_key(config, "console", _RATE),
                "chromium": chromium,
                "axe": str(AXE),
            }
            yield {**os.environ, VARIABLE: orjson.dumps(given).decode()}


async def main(chosen: Sequence[str]) -> int:
    """Run the tests, those chosen by arguments of pytest or all; return the exit status."""
    chromium = browser.find()
    if chromium is None:
        print(f"console-test: {browser.MISSING}")
        return 1 if os.environ.get("CI") else 0
    await asyncio.to_thread(console.install)
    began = time.monotonic()
    async with stage(chromium) as environ:
        print(f"console-test: the gateway serves after {time.monotonic() - began:.0f} s", flush=True)
        testing = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "-o", "python_files=[a-z]*.py"),
            *(chosen or [str(FOLDER)]),
            cwd=ROOT,
            env=environ,
        )
        status = await testing.wait()
    print(f"console-test: {time.monotonic() - began:.0f} s in all")
    return status


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
