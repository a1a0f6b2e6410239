"""What outlives a process: tables, migrations and the database behind them."""
