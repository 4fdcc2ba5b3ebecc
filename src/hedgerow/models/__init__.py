"""The estimators of sequences, a folder for each family."""
