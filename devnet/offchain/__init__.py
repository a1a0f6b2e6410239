"""What the devnet serves besides chains: the servers off the chain that its contracts name. All of it is our own."""
