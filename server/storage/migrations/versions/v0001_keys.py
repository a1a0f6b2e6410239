"""Add the table of API keys."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create `keys`."""
    op.create_table(
        "keys",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("prefix", sa.String(16), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("rate", sa.Float()),
        sa.Column("burst", sa.Integer()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_keys_prefix", "keys", ["prefix"])


def downgrade() -> None:
    """Drop `keys`."""
    op.drop_table("keys")
