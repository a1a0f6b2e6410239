"""Add the table of share prices."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create `share_prices`."""
    op.create_table(
        "share_prices",
        sa.Column("chain", sa.String(32), primary_key=True),
        sa.Column("vault", sa.String(42), primary_key=True),
        sa.Column("hour", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("assets", sa.Text(), nullable=False),
    )
    op.create_index("ix_share_prices_hour", "share_prices", ["hour"])


def downgrade() -> None:
    """Drop it."""
    op.drop_index("ix_share_prices_hour", "share_prices")
    op.drop_table("share_prices")
