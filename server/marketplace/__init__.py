"""Published contract methods: the apps, what a call of one does, and the typed services (contract section 4.16)."""
