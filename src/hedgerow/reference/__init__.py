"""The kernels once more in plain NumPy, written to be obviously right: the oracle of the tests."""
