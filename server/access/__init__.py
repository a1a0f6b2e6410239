"""Who may call and how much: API keys, quotas, admission."""
