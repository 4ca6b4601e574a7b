"""What the benchmark of the dashboard measures with: the watched program, its clocks, and pairs of its chunks."""
