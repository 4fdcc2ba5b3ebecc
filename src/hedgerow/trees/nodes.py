"""The numbers that stand for things in trees and bins, and the fields of the tables that describe both."""

# The rule of a split says what goes to its true side: x = bin; x ≤ bin; x ≤ bin or one of the two last bins, missing
# and outside; the x of a set; every place with a sparse item.
EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = range(5)

LABEL, LEAF = -1, -2  # in place of a stream: a split on the previous label, and no split

# Fields of a node. The `bin` of a SUBSET is the number of its set, that of HAS an item.
STREAM, BIN, RULE, TRUE_CHILD, FALSE_CHILD = range(5)

CODES, ORDERED, ITEMS = range(3)  # kinds of columns

# Fields of a stream, which is a column at an offset of its window. The first item counts over all sparse streams; the
# missing bin (or item) stands for no value, and is −1 where none does.
COLUMN, OFFSET, FIRST_ITEM, N_BINS, KIND, MISSING_BIN = range(6)

# Fields of a block, which is a dense column: cell [x, offset] of its part of a histogram is base + x · stride + width
# − 1 − (offset − low).
BLOCK_BINS, BLOCK_LOW, BLOCK_WIDTH, BLOCK_STRIDE, BLOCK_BASE, BLOCK_KIND, BLOCK_STREAM = range(7)

LEAF_BITS = 62  # of a word of a mask of leaves
MAX_BINS = 256  # of a dense column: a byte
N_SPECIAL = 2  # bins that an ordered column has behind those of its values: missing, and last outside
