"""Benchmarks: ratios against bare echoes and the bare node, all measured in one run."""
