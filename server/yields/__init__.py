"""Off-chain APIs of yield products, one module each: documents in types of their own, rates in percent per year."""
