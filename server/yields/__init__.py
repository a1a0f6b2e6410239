"""Off-chain APIs of yield products: one module each, whose documents readers of protocols are handed."""
