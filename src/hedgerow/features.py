"""Features of words, ready made: `word_features` gives columns, and `word_window` the window that goes with them."""

from hedgerow.data.words import word_features, word_shape, word_window

__all__ = ["word_features", "word_shape", "word_window"]
