"""Off-chain APIs of protocols that yields come from, one module each; their documents reach readers in its types."""
