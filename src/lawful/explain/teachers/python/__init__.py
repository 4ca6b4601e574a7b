"""Python programs as teachers: run on all small inputs, along all paths, or on samples, in a process of their own."""
