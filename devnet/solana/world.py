"""The seeded world: who owns what, and which transactions there were (figures: devnet/known_solana.py)."""

import time

from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from devnet import known_solana as known
from devnet.solana import programs
from devnet.solana.ledger import Ledger

_BANK = known.key_of("bank")
_ENOUGH = 10_000_000  # lamports that keep any account of this world
_LOOKUP_PROGRAM = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
LOOKUP_TABLE = known.key_of("look-up table").pubkey()


def build_world(ledger: Ledger) -> None:
    """Write the canonical accounts and run the seeded transactions, each in its slot; the last block is of now."""
    _write_accounts(ledger)
    bank = _BANK.pubkey()
    ledger.execute([_pay(known.ALICE, known.ALICE_LAMPORTS)], [_BANK])
    ledger.execute([_pay(known.BOB, known.BOB_LAMPORTS)], [_BANK])
    _fund_usdc(ledger)
    _make_token_2022(ledger)
    _make_pointing(ledger)
    _make_nameless(ledger)
    wrapped = programs.associated_account(known.ALICE, known.WRAPPED_SOL, known.TOKEN_PROGRAM)
    ledger.execute(
        [
            programs.create_associated(bank, known.ALICE, known.WRAPPED_SOL, known.TOKEN_PROGRAM),
            _pay(wrapped, known.ALICE_WRAPPED),
            programs.sync_native(wrapped),
        ],
        [_BANK],
    )
    _send_versioned(ledger)
    _send_failing(ledger)
    ledger.advance(at=int(time.time()))


def versioned(ledger: Ledger) -> str:
    """Return the signature of the seeded transaction of version 0, whose receiver comes from a look-up table."""
    return next(signature for signature, executed in ledger.executed.items() if executed.transaction.version() == 0)


def failed(ledger: Ledger) -> str:
    """Return the signature of the seeded transaction that failed."""
    return next(signature for signature, executed in ledger.executed.items() if executed.error is not None)


def _write_accounts(ledger: Ledger) -> None:
    svm, bank = ledger.svm, _BANK.pubkey()
    svm.set_account(bank, Account(10**15, b"", Pubkey.default()))
    svm.set_account(known.USDC, programs.written_mint(_ENOUGH, bank, 6))
    svm.set_account(known.WRAPPED_SOL, programs.written_mint(_ENOUGH, None, 9))
    for mint, texts in ((known.USDC, known.USDC_METADATA), (known.POINTING, known.POINTING_METADATA)):
        svm.set_account(programs.metadata_address(mint), programs.written_metadata(_ENOUGH, mint, bank, texts))
    # A look-up table that cannot be changed any more: type 1, never deactivated, no authority.
    header = (1).to_bytes(4, "little") + b"\xff" * 8 + bytes(8) + bytes([0, 0]) + bytes(34)
    table = header[:56] + bytes(known.BOB) + bytes(known.ALICE)
    svm.set_account(LOOKUP_TABLE, Account(_ENOUGH, table, _LOOKUP_PROGRAM))


def _pay(to: Pubkey, lamports: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=_BANK.pubkey(), to_pubkey=to, lamports=lamports))


def _fund_usdc(ledger: Ledger) -> None:
    bank, mint, program = _BANK.pubkey(), known.USDC, known.TOKEN_PROGRAM
    first = programs.associated_account(known.ALICE, mint, program)
    ledger.execute(
        [
            programs.create_associated(bank, known.ALICE, mint, program),
            programs.mint_to(program, mint, first, bank, known.ALICE_USDC[0]),
        ],
        [_BANK],
    )
    for number, amount in enumerate(known.ALICE_USDC[1:]):
        _open_and_mint(ledger, f"alice usdc {number}", mint, program, amount)


def _open_and_mint(ledger: Ledger, word: str, mint: Pubkey, program: Pubkey, amount: int) -> None:
    """Give ALICE one more account of a mint, at an address of its own."""
    bank, account = _BANK.pubkey(), known.key_of(word)
    size = programs.ACCOUNT_SIZE
    ledger.execute(
        [
            programs.new_account(bank, account.pubkey(), _ENOUGH, size, program),
            programs.initialize_account(program, account.pubkey(), mint, known.ALICE),
            programs.mint_to(program, mint, account.pubkey(), bank, amount),
        ],
        [_BANK, account],
    )


def make_mint(ledger: Ledger, mint: Keypair, target: Pubkey, decimals: int) -> None:
    """Make a Token-2022 mint with a metadata pointer to an address."""
    bank, address = _BANK.pubkey(), mint.pubkey()
    ledger.execute(
        [
            programs.new_account(bank, address, _ENOUGH, programs.EXTENDED_MINT_SIZE, known.TOKEN_2022_PROGRAM),
            programs.initialize_pointer(address, bank, target),
            programs.initialize_mint(known.TOKEN_2022_PROGRAM, address, bank, decimals),
        ],
        [_BANK, mint],
    )


def _make_token_2022(ledger: Ledger) -> None:
    bank, mint, program = _BANK.pubkey(), known.TOKEN_2022, known.TOKEN_2022_PROGRAM
    make_mint(ledger, known.key_of("token-2022 mint"), mint, known.DECIMALS[str(mint)])
    ledger.execute([programs.initialize_metadata(mint, bank, known.TOKEN_2022_METADATA)], [_BANK])
    first = programs.associated_account(known.ALICE, mint, program)
    ledger.execute(
        [
            programs.create_associated(bank, known.ALICE, mint, program),
            programs.mint_to(program, mint, first, bank, known.ALICE_TOKEN_2022[0]),
        ],
        [_BANK],
    )
    _open_and_mint(ledger, "alice token-2022", mint, program, known.ALICE_TOKEN_2022[1])


def _make_pointing(ledger: Ledger) -> None:
    target = programs.metadata_address(known.POINTING)
    make_mint(ledger, known.key_of("pointing mint"), target, known.DECIMALS[str(known.POINTING)])


def _make_nameless(ledger: Ledger) -> None:
    bank, mint = _BANK.pubkey(), known.key_of("nameless mint")
    program = known.TOKEN_PROGRAM
    ledger.execute(
        [
            programs.new_account(bank, mint.pubkey(), _ENOUGH, programs.MINT_SIZE, program),
            programs.initialize_mint(program, mint.pubkey(), bank, known.DECIMALS[str(known.NAMELESS)]),
        ],
        [_BANK, mint],
    )
    _open_and_mint(ledger, "alice nameless", mint.pubkey(), program, known.ALICE_NAMELESS)


def _send_versioned(ledger: Ledger) -> None:
    table = AddressLookupTableAccount(LOOKUP_TABLE, [known.BOB, known.ALICE])
    ledger.execute([_pay(known.BOB, 1)], [_BANK], legacy=False, tables=[table])


def _send_failing(ledger: Ledger) -> None:
    bob = known.key_of("bob")
    too_much = transfer(TransferParams(from_pubkey=known.BOB, to_pubkey=known.ALICE, lamports=10**18))
    ledger.execute([too_much], [bob])


def gift(ledger: Ledger, to: Pubkey, lamports: int) -> str:
    """Send lamports from the bank in a block of its own and return the signature."""
    return str(ledger.execute([_pay(to, lamports)], [_BANK]).transaction.signatures[0])
