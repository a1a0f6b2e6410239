"""What happens when a published method is called: a read, a simulation, or a query (contract section 4.16)."""
