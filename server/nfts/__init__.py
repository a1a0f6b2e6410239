"""NFT contracts and the documents of their tokens."""
