"""Ends with 0 where the gateway of this container is ready: `healthcheck.py [URL]`."""

import sys
import urllib.error
import urllib.request

_READY = "http://127.0.0.1:8080/readyz"


def main(url: str = _READY) -> int:
    """Return 0 where the address answers 200, else 1 with the reason printed."""
    try:
        # Where the machine has a proxy configured: this never leaves the container.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=4):
            return 0
    except (OSError, ValueError) as error:
        print(f"not ready: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
