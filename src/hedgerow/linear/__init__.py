"""Linear scores: which weights there are, scores of a chunk, and gradients pulled back to weights."""
