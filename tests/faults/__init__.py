"""Real training programs with planted faults, their healthy twins, and how well rules tell them."""
