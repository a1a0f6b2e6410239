"""Instructions of the SPL programs as bytes, and accounts that are written instead of created."""

import struct

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account

from devnet.known_solana import ASSOCIATED_TOKEN_PROGRAM, METADATA_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM

_SYSTEM_PROGRAM = Pubkey.from_string("11111111111111111111111111111111")
_RENT = Pubkey.from_string("SysvarRent111111111111111111111111111111111")

MINT_SIZE = 82
ACCOUNT_SIZE = 165
_POINTER_SIZE = 4 + 64
EXTENDED_MINT_SIZE = ACCOUNT_SIZE + 1 + _POINTER_SIZE
# Discriminator of the token-metadata interface's `initialize`: the first 8 bytes of SHA-256 of
# "spl_token_metadata_interface:initialize_account".
_INITIALIZE_METADATA = bytes([210, 225, 30, 162, 88, 184, 77, 141])


def new_account(payer: Pubkey, address: Pubkey, lamports: int, space: int, owner: Pubkey) -> Instruction:
    """Return the instruction that makes an empty account of a program."""
    return create_account(
        CreateAccountParams(from_pubkey=payer, to_pubkey=address, lamports=lamports, space=space, owner=owner)
    )


def initialize_mint(program: Pubkey, mint: Pubkey, authority: Pubkey, decimals: int) -> Instruction:
    """Return the instruction that makes an account a mint without freeze authority."""
    data = bytes([0, decimals]) + bytes(authority) + b"\0"
    return Instruction(program, data, [_writes(mint), _reads(_RENT)])


def initialize_pointer(mint: Pubkey, authority: Pubkey, target: Pubkey) -> Instruction:
    """Return the instruction that gives a Token-2022 mint its metadata pointer, before it is initialized."""
    return Instruction(TOKEN_2022_PROGRAM, bytes([39, 0]) + bytes(authority) + bytes(target), [_writes(mint)])


def initialize_metadata(mint: Pubkey, authority: Pubkey, texts: tuple[str, str, str]) -> Instruction:
    """Return the instruction that writes name, symbol and uri into a Token-2022 mint."""
    accounts = [_writes(mint), _reads(authority), _reads(mint), AccountMeta(authority, True, False)]
    return Instruction(TOKEN_2022_PROGRAM, _INITIALIZE_METADATA + b"".join(map(_string, texts)), accounts)


def initialize_account(program: Pubkey, account: Pubkey, mint: Pubkey, owner: Pubkey) -> Instruction:
    """Return the instruction that makes an account a token account of an owner."""
    return Instruction(program, bytes([1]), [_writes(account), _reads(mint), _reads(owner), _reads(_RENT)])


def associated_account(owner: Pubkey, mint: Pubkey, program: Pubkey) -> Pubkey:
    """Return the address of an owner's usual account of a mint."""
    seeds = [bytes(owner), bytes(program), bytes(mint)]
    return Pubkey.find_program_address(seeds, ASSOCIATED_TOKEN_PROGRAM)[0]


def create_associated(payer: Pubkey, owner: Pubkey, mint: Pubkey, program: Pubkey) -> Instruction:
    """Return the instruction that makes that account."""
    accounts = [
        AccountMeta(payer, True, True),
        _writes(associated_account(owner, mint, program)),
        *map(_reads, (owner, mint, _SYSTEM_PROGRAM, program)),
    ]
    return Instruction(ASSOCIATED_TOKEN_PROGRAM, b"", accounts)


def mint_to(program: Pubkey, mint: Pubkey, account: Pubkey, authority: Pubkey, amount: int) -> Instruction:
    """Return the instruction that mints into a token account."""
    data = struct.pack("<BQ", 7, amount)
    return Instruction(program, data, [_writes(mint), _writes(account), AccountMeta(authority, True, False)])


def sync_native(account: Pubkey) -> Instruction:
    """Return the instruction by which an account of wrapped SOL counts the lamports it was sent."""
    return Instruction(TOKEN_PROGRAM, bytes([17]), [_writes(account)])


def written_mint(lamports: int, authority: Pubkey | None, decimals: int) -> Account:
    """Return a mint of the classic token program as bytes, for real addresses whose keys are not known here."""
    option = struct.pack("<I", authority is not None) + bytes(authority or Pubkey.default())
    data = option + struct.pack("<QBB", 0, decimals, 1) + bytes(36)
    return Account(lamports, data, TOKEN_PROGRAM)


def metadata_address(mint: Pubkey) -> Pubkey:
    """Return the address of a mint's Metaplex metadata."""
    return Pubkey.find_program_address([b"metadata", bytes(METADATA_PROGRAM), bytes(mint)], METADATA_PROGRAM)[0]


def written_metadata(lamports: int, mint: Pubkey, authority: Pubkey, texts: tuple[str, str, str]) -> Account:
    """Return Metaplex metadata as bytes, texts padded with NULs as old accounts have them.

    The program that writes such accounts is not in the engine.
    """
    padded = [_string(text.ljust(width, "\0")) for text, width in zip(texts, (32, 10, 200), strict=True)]
    tail = struct.pack("<HBBB", 0, 0, 0, 1) + b"\1\xff\1\2"
    data = bytes([4]) + bytes(authority) + bytes(mint) + b"".join(padded) + tail
    return Account(lamports, data.ljust(607, b"\0"), METADATA_PROGRAM)


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<I", len(encoded)) + encoded


def _reads(address: Pubkey) -> AccountMeta:
    return AccountMeta(address, False, False)


def _writes(address: Pubkey) -> AccountMeta:
    return AccountMeta(address, False, True)
