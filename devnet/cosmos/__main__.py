"""`python -m devnet.cosmos [--still] cosmoshub osmosis`: serve these chains on free loopback ports until killed.

With `--still` time makes no blocks: only transactions do.
The first line printed is a JSON object: by slug the URLs of a chain's REST gateway (`rest`) and CometBFT RPC (`comet`).
"""

import asyncio
import json
import sys

from aiohttp import web

from devnet.cosmos import comet, rest
from devnet.cosmos.ledger import Ledger
from devnet.cosmos.process import STILL
from devnet.cosmos.world import CHAINS


async def serve(slugs: list[str], *, mines: bool) -> None:
    """Serve until cancelled; with `mines` blocks come as time passes."""
    runners: list[web.AppRunner] = []
    urls: dict[str, dict[str, str]] = {}
    try:
        for slug in slugs:
            ledger = Ledger(CHAINS[slug], mines=mines)
            urls[slug] = {}
            for kind, app in (("rest", rest.build_app(ledger)), ("comet", comet.build_app(ledger))):
                runner = web.AppRunner(app, access_log=None)
                runners.append(runner)
                await runner.setup()
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                urls[slug][kind] = f"http://127.0.0.1:{runner.addresses[0][1]}"
        print(json.dumps(urls), flush=True)
        await asyncio.Event().wait()
    finally:
        for runner in runners:
            await runner.cleanup()


if __name__ == "__main__":
    wanted = [argument for argument in sys.argv[1:] if argument != STILL]
    asyncio.run(serve(wanted or list(CHAINS), mines=STILL not in sys.argv))
