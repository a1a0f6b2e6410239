"""Add what keys may do, and the tables of usage. The statements of the version before work on it unchanged."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ADDED = (
    ("expires_at", sa.DateTime(timezone=True)),
    ("operations", sa.Text()),
    ("chains", sa.Text()),
    ("notes", sa.Text()),
    ("previous_hash", sa.LargeBinary(32)),
    ("previous_until", sa.DateTime(timezone=True)),
    ("edits", sa.Integer()),
)
_FIGURES = (
    "requests",
    "items",
    "units",
    "cache_hits",
    "upstream_requests",
    "bytes_sent",
    "bytes_received",
    "joined",
    "folded",
)


def upgrade() -> None:
    """Add nullable columns to `keys`; create `usage`, `usage_errors`, `usage_writers`."""
    for name, kind in _ADDED:
        op.add_column("keys", sa.Column(name, kind))
    op.create_table("usage", *_used_by(), *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _FIGURES))
    op.create_table(
        "usage_errors",
        *_used_by(),
        sa.Column("reason", sa.String(64), primary_key=True),
        sa.Column("requests", sa.BigInteger(), nullable=False),
    )
    for table in ("usage", "usage_errors"):
        op.create_index(f"ix_{table}_start", table, ["span", "start"])
    op.create_table(
        "usage_writers",
        sa.Column("process", sa.String(32), primary_key=True),
        sa.Column("interval", sa.BigInteger(), nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Drop them; what keys may do is lost, so that limited keys would become unlimited: revoke these first."""
    for table in ("usage_writers", "usage_errors", "usage"):
        op.drop_table(table)
    for name, _ in reversed(_ADDED):
        op.drop_column("keys", name)


def _used_by() -> list[sa.Column[object]]:
    return [
        sa.Column("account", sa.String(32), primary_key=True),
        sa.Column("span", sa.String(4), primary_key=True),
        sa.Column("start", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("operation", sa.String(64), primary_key=True),
        sa.Column("chain", sa.String(32), primary_key=True),
    ]
