"""`python -m devnet.solana PORT`: serve the seeded chain until the process is ended."""

import argparse

from aiohttp import web

from devnet.solana.facade import application
from devnet.solana.ledger import Ledger
from devnet.solana.world import build_world


def main() -> None:
    """Build the world and serve it on a loopback port."""
    parser = argparse.ArgumentParser(prog="python -m devnet.solana", description=__doc__)
    parser.add_argument("port", type=int)
    arguments = parser.parse_args()
    ledger = Ledger()
    build_world(ledger)
    web.run_app(application(ledger), host="127.0.0.1", port=arguments.port, print=None, access_log=None)


if __name__ == "__main__":
    main()
