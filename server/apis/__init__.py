"""Off-chain APIs: where they are asked and what they answer with, as documents that all calls share."""
