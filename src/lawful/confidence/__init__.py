"""Monte Carlo monitoring: what a sample of objects tells about all of them, and how many are worth watching."""
