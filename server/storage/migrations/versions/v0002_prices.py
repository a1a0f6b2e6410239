"""Add the tables of prices, and that of leases."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create `price_observations`, `price_days` and `leases`."""
    op.create_table(
        "price_observations",
        sa.Column("symbol", sa.String(32), primary_key=True),
        sa.Column("publisher", sa.String(32), primary_key=True),
        sa.Column("told_at", sa.DateTime(timezone=True), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_index("ix_price_observations_told_at", "price_observations", ["told_at"])
    op.create_table(
        "price_days",
        sa.Column("symbol", sa.String(32), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("maximum", sa.Text(), nullable=False),
        sa.Column("last", sa.Text(), nullable=False),
        sa.Column("is_whole", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("holder", sa.String(64), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("leases")
    op.drop_table("price_days")
    op.drop_index("ix_price_observations_told_at", "price_observations")
    op.drop_table("price_observations")
