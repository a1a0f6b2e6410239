"""Event logs of EVM chains: searched newest first, decoded, as pages of logs, events and transfers."""
