"""Add the table of tickets."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create `key_tickets`."""
    op.create_table(
        "key_tickets",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("hash", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("key_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_key_tickets_key_hash", "key_tickets", ["key_hash"])


def downgrade() -> None:
    """Drop it: tickets open nothing any more."""
    op.drop_index("ix_key_tickets_key_hash", "key_tickets")
    op.drop_table("key_tickets")
