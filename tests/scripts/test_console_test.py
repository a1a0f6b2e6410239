"""Without a browser the stage says what to install; where CI is set that is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.browser import NAMES, VARIABLE
from tests.each import each

ROOT = Path(__file__).resolve().parents[2]


@each([({}, 0), ({"CI": "1"}, 1)])
def test_a_missing_browser_is_left_out_or_a_failure(more: dict[str, str], status: int) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    said = subprocess.run(
        (sys.executable, "-m", "scripts.console_test"),
        cwd=ROOT,
        env={**environ, VARIABLE: "no-such-browser", **more},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.returncode == status, said.stderr
    assert "apt-get install chromium" in said.stdout
    assert all(name in said.stdout for name in (*NAMES, VARIABLE))
