"""Made-up data with a seed, for tests, docs and benchmarks: drawn from a model that is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.datasets.conll2000 import chunking_features
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray, IndexArray

# ------------------------------------------------------------------------------------------------ any chain


@dataclass(frozen=True)
class MadeChain:
    """A hidden Markov model with K labels and V tokens: what made-up data is drawn from.

    start : (K,) probabilities of the first label
    transitions : (K, K) probabilities, [from, to]
    emissions : (K, V) probabilities of the tokens under each label
    """

    start: FloatArray
    transitions: FloatArray
    emissions: FloatArray

    @classmethod
    def draw(cls, n_labels: int, n_tokens: int, concentration: float, rng: np.random.Generator) -> MadeChain:
        """A chain whose probabilities are drawn from Dirichlet distributions."""
        return cls(
            start=rng.dirichlet(np.full(n_labels, 1.0)),
            transitions=rng.dirichlet(np.full(n_labels, concentration), size=n_labels),
            emissions=rng.dirichlet(np.full(n_tokens, concentration), size=n_labels),
        )

    def sample(self, lengths: IndexArray, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
        """The numbers of the tokens and of the labels of sequences with these lengths, flat: both (N,)."""
        labels = walk(self.start, self.transitions, lengths, rng)
        return choose(self.emissions, labels, rng), labels


def make_sequences(
    n_sequences: int = 100,
    n_labels: int = 3,
    *,
    n_tokens: int = 50,
    mean_length: float = 10.0,
    concentration: float = 0.3,
    random_state: int = 0,
) -> tuple[list[list[str]], list[list[str]]]:
    """Sequences drawn from a random chain: X has a list of tokens ("w0", …) for each, y its labels ("L0", …).

    Labels follow a Markov chain, and every token depends on the label of its position alone. Lengths are 1 plus
    a Poisson number. A small `concentration` makes labels easy to tell from their tokens and neighbours; a large
    one makes them alike. `MadeChain` gives the chain itself, where the true probabilities are wanted.
    """
    if min(n_sequences, n_labels, n_tokens) < 1 or mean_length < 1 or concentration <= 0:
        raise InputError("make_sequences needs sizes of at least 1 and a concentration above 0")
    rng = np.random.default_rng(random_state)
    chain = MadeChain.draw(n_labels, n_tokens, concentration, rng)
    lengths = 1 + rng.poisson(mean_length - 1, size=n_sequences)
    tokens, labels = chain.sample(lengths, rng)
    ends = np.cumsum(lengths)
    return _names("w", tokens, ends), _names("L", labels, ends)


def walk(start: FloatArray, transitions: FloatArray, lengths: IndexArray, rng: np.random.Generator) -> IndexArray:
    """Markov chains of these lengths, one after another: (N,) states."""
    first = np.cumsum(start)
    after = np.cumsum(transitions, axis=1)
    # A sum of probabilities can end a little under 1: the last state takes what is left.
    first[-1] = after[:, -1] = 1.0
    # All chains take one step at a time: the loop is as long as the longest, not as the corpus.
    begins = np.cumsum(lengths) - lengths
    states = np.empty(int(lengths.sum()), dtype=np.int64)
    uniforms = rng.random(len(states))
    for t in range(int(lengths.max())):
        here = begins[lengths > t] + t
        table = after[states[here - 1]] if t else first[None]
        states[here] = (uniforms[here, None] >= table).sum(axis=1)
    return states


def choose(table: FloatArray, rows: IndexArray, rng: np.random.Generator) -> IndexArray:
    """For every entry of `rows` a column of the table, with the probabilities of that row: (N,) columns."""
    columns = np.empty(len(rows), dtype=np.int64)
    for row in range(len(table)):
        here = np.flatnonzero(rows == row)
        columns[here] = rng.choice(table.shape[1], size=len(here), p=table[row])
    return columns


def _names(letter: str, numbers: IndexArray, ends: IndexArray) -> list[list[str]]:
    names = [f"{letter}{i}" for i in range(int(numbers.max()) + 1)]
    return [[names[i] for i in part.tolist()] for part in np.split(numbers, ends[:-1])]


# ---------------------------------------------------------------------------------- the shape of CoNLL-2000

# How often a chunk of each type begins, and the probability that it goes on: about as in newspaper text.
_CHUNKS = {
    "NP": (0.52, 0.53),
    "VP": (0.20, 0.36),
    "PP": (0.20, 0.02),
    "ADVP": (0.040, 0.10),
    "SBAR": (0.021, 0.03),
    "ADJP": (0.019, 0.25),
    "PRT": (0.006, 0.01),
    "CONJP": (0.002, 0.55),
    "INTJ": (0.001, 0.20),
    "LST": (0.001, 0.0),
    "UCP": (0.001, 0.50),
}
_OUTSIDE = 0.14
_N_TAGS = 44
# These three are set so that distinct words, pairs of words, and pairs and triples of tags come out as in CoNLL-2000.
_N_WORDS = 95_000
_TAG_STEEPNESS = 2.8
_HABIT = 0.6  # how often a word is followed by its favourite
_MEAN_LENGTH = 23.7


def make_chunking_like(
    n_sentences: int = 8936, *, random_state: int = 0
) -> tuple[list[list[dict[str, str]]], list[list[str]]]:
    """Sentences with the sizes of CoNLL-2000, for benchmarks where that is not at hand.

    X has a list of dicts for each sentence, one per token, with the 19 attributes of `chunking_features`; y has
    its labels, 22 in all, legal in IOB2. Words follow Zipf's law and tags depend on labels. By default that makes
    about 213,000 tokens and 330,000 distinct attributes; another seed gives another number of them. It has the
    weight of the real data, not its grammar.
    """
    if n_sentences < 1:
        raise InputError("make_chunking_like needs at least one sentence")
    rng = np.random.default_rng(random_state)
    names, start, transitions = _chunk_chain()
    # A negative binomial has the mean and the spread of sentences in print; a Poisson number has half the spread.
    lengths = 1 + rng.negative_binomial(5, 5 / (5 + _MEAN_LENGTH - 1), size=n_sentences)
    labels = walk(start, transitions, lengths, rng)
    shares = np.arange(1, _N_TAGS + 1) ** -_TAG_STEEPNESS
    # A label has a few tags of its own, and the others now and then.
    tags = choose(np.array([rng.permutation(shares / shares.sum()) for _ in names]), labels, rng)
    words = _draw_words(tags, lengths, rng)
    tag_names = [f"T{i}" for i in range(_N_TAGS)]
    X, y = [], []
    ends = np.cumsum(lengths)[:-1]
    for these in zip(np.split(words, ends), np.split(tags, ends), np.split(labels, ends)):
        sentence, sentence_tags, sentence_labels = (part.tolist() for part in these)
        X.append(chunking_features([f"w{i}" for i in sentence], [tag_names[i] for i in sentence_tags]))
        y.append([names[i] for i in sentence_labels])
    return X, y


def _chunk_chain() -> tuple[list[str], FloatArray, FloatArray]:
    """Label names, and start (K,) and transition (K, K) probabilities of a chain that obeys IOB2."""
    names = ["O", *(f"B-{kind}" for kind in _CHUNKS), *(f"I-{kind}" for kind in _CHUNKS if kind != "LST")]
    begin = np.zeros(len(names))
    begin[0] = _OUTSIDE
    for kind, (share, _) in _CHUNKS.items():
        begin[names.index(f"B-{kind}")] = share
    begin /= begin.sum()
    transitions = np.tile(begin, (len(names), 1))
    for row, name in enumerate(names):
        inside = f"I-{name[2:]}"
        if inside in names:
            goes_on = _CHUNKS[name[2:]][1]
            transitions[row] *= 1 - goes_on
            transitions[row, names.index(inside)] = goes_on
    return names, begin, transitions


def _draw_words(tags: IndexArray, lengths: IndexArray, rng: np.random.Generator) -> IndexArray:
    """Words by Zipf's law within each tag. Now and then a word is the one that always follows the word before.

    Without such habits nearly every pair of neighbours would be a new one, and there would be too many attributes.
    """
    sizes = np.full(_N_TAGS, _N_WORDS // _N_TAGS)
    ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
    tag_of_word = np.repeat(np.arange(_N_TAGS), sizes)
    # The distribution functions of all tags in one row: tag i has the stretch from i to i + 1.
    stretches = np.bincount(tag_of_word, 1.0 / ranks)
    heights = np.cumsum(1.0 / ranks / stretches[tag_of_word])
    place = rng.random(len(tags))
    habitual = rng.random(len(tags)) < _HABIT
    favourite = rng.random(_N_WORDS)
    words = np.empty(len(tags), dtype=np.int64)
    begins = np.cumsum(lengths) - lengths
    for t in range(int(lengths.max())):
        here = begins[lengths > t] + t
        if t:
            follows = here[habitual[here]]
            place[follows] = (favourite[words[follows - 1]] + tags[follows] / _N_TAGS) % 1.0
        chosen = np.searchsorted(heights, tags[here] + place[here], side="right")
        words[here] = np.minimum(chosen, len(ranks) - 1)
    return words
