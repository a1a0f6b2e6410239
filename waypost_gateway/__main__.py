"""Entry of `python -m waypost_gateway`."""

import sys

from waypost_gateway import main

if __name__ == "__main__":
    sys.exit(main())
