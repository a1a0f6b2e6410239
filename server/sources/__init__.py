"""What answers are made of besides the reads of one chain: prices, and figures over many chains."""
