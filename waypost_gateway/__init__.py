"""The installed `waypost` command: finds the gateway's tree and runs it.

The tree (`runtime`, `server`, `cli`, the stubs `waypost`, ...) lies in the folder `tree` of this package: environments
with other packages of those names, the client `waypost` above all, keep them, as the gateway's own processes alone find
the tree.
"""

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent
_INSTALLED = (_PACKAGE / "tree",)
_EDITABLE = (_CHECKOUT, _CHECKOUT / "clients" / "python", _CHECKOUT / "generated")


def main() -> int:
    """Run `waypost` with the arguments of this process and return its exit code.

    Processes that it starts (workers, local nodes) find the same tree, and nothing of the folder they are started in.
    """
    roots = [str(root) for root in (_INSTALLED if _INSTALLED[0].is_dir() else _EDITABLE)]
    sys.path[:0] = roots
    given = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*roots, given] if given else roots)
    os.environ["PYTHONSAFEPATH"] = "1"
    from cli.__main__ import main as run

    return run()
