"""Give every price its source and every database its profile; purge prices of unknown origin."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
# Older processes read `price_days` as it was.
compatible_with = "0003"


def upgrade() -> None:
    """Purge all prices, key `price_days` by source, create `price_requests`, `properties` and `reserve`.

    Prices stored so far do not state which profile wrote them nor from how much of a day they are: the devnet's
    artificial ones and days out of four figures stand among them. Keys stay.
    """
    op.execute("DELETE FROM price_observations")
    op.drop_table("price_days")
    op.create_table(
        "price_days",
        sa.Column("symbol", sa.String(32), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("source", sa.String(32), primary_key=True),
        sa.Column("maximum", sa.Text(), nullable=False),
        sa.Column("last", sa.Text(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hours", sa.Integer(), nullable=False),
    )
    op.create_table(
        "price_requests",
        sa.Column("symbol", sa.String(32), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "properties",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_table(
        "reserve",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("filling", sa.LargeBinary(), nullable=False),
    )


def downgrade() -> None:
    """Go back to days without a source; their prices are lost."""
    for table in ("reserve", "properties", "price_requests", "price_days"):
        op.drop_table(table)
    op.create_table(
        "price_days",
        sa.Column("symbol", sa.String(32), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("maximum", sa.Text(), nullable=False),
        sa.Column("last", sa.Text(), nullable=False),
        sa.Column("is_whole", sa.Boolean(), nullable=False),
    )
