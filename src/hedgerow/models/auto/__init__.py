"""AutoLabeler: which model, with which settings, is found by trying."""
