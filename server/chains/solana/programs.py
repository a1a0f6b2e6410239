"""Programs: accounts that can be executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from server.chains.solana.accounts import refuse_history
from server.chains.solana.answers import COMMITMENT, Context, Count, read_value
from server.chains.solana.keys import parse_key

if TYPE_CHECKING:
    from server.chains.view import ReadView
    from server.upstream.pool import Pool

# None of the data itself is wanted.
_CONFIG = {"commitment": COMMITMENT, "encoding": "base64", "dataSlice": {"offset": 0, "length": 0}}


class _Program(msgspec.Struct):
    executable: bool
    space: Count


class _Found(msgspec.Struct):
    context: Context
    value: _Program | None


_read_program = msgspec.json.Decoder(_Found).decode


class ProgramReader:
    """Tells programs from other accounts."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read_program_size(self, address: str, view: ReadView) -> int:
        """Return the bytes that a program's account holds, 0 where there is no account or none that is executable.

        Of an upgradeable program it is the account at its address, not the one with its code.
        """
        refuse_history(view)
        key = parse_key(address, "address")
        program = (await read_value(self._pool, "getAccountInfo", [str(key), _CONFIG], _read_program, view)).answer
        return program.space if program is not None and program.executable else 0
