"""A corpus that is read in parts, which may lie elsewhere: its schema, its sums, and a way to ask every part."""
