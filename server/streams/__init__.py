"""What happens on chains, followed once and sent to everyone who watches."""
