"""Access: API keys, quotas, admission."""
