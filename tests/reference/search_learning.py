"""Learning as search optimisation in plain Python: labelings are tuples, weights stand in a dictionary.

A sequence is a list of positions, and a position a list of (row, value) pairs, the input features that it has. The
score of a labeling adds, for the label v of every position, the weights

    ("node", row, v) · value        of the features of the position; pairs that training never showed have none
    ("run", (u1, …, ui), v)         of the last i labels together, the newest first, i up to the order
    ("back", i, u, v)               of the label i ≥ 2 places back alone
    ("count", u, c, v)              of each label u that came more than c times before, c below a cap

where K stands before the first label, and ends a run. Runs of two labels or more have weights only where training
shows them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

Labels = tuple[int, ...]
Position = list[tuple[int, float]]
Key = tuple[Hashable, ...]


@dataclass
class Search:
    """Weights, what they see, and how wide the beam is. `known` says which keys have a weight at all.

    moves : may label v follow u (None: at the start); ends : may a sequence end with v
    """

    n_labels: int
    order: int
    n_counts: int
    width: int
    known: Callable[[Key], bool]
    moves: Callable[[int | None, int], bool] = lambda u, v: True
    ends: Callable[[int], bool] = lambda v: True
    weights: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    totals: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    n_steps: int = 0
    label_weights: dict[int, float] = field(default_factory=lambda: defaultdict(lambda: 1.0))

    def features(self, x: list[Position], labels: Labels) -> dict[Key, float]:
        """The features of the last label of a labeling."""
        t, K = len(labels) - 1, self.n_labels
        v, before = labels[-1], labels[:-1]
        found: dict[Key, float] = defaultdict(float)
        for row, value in x[t]:
            found["node", row, v] += value
        back = [before[-i] if i <= len(before) else K for i in range(1, self.order + 1)]
        for i in range(1, self.order + 1):
            if K not in back[: i - 1]:
                found["run", tuple(back[:i]), v] = 1.0
            if i > 1:
                found["back", i, back[i - 1], v] = 1.0
        for u in range(K):
            for c in range(min(before.count(u), self.n_counts)):
                found["count", u, c, v] = 1.0
        return {key: value for key, value in found.items() if self.known(key)}

    def score(self, x: list[Position], labels: Labels) -> float:
        """Of a whole labeling, or of the beginning of one."""
        ends = range(1, len(labels) + 1)
        return sum(self.weights[key] * value for t in ends for key, value in self.features(x, labels[:t]).items())

    def possible(self, labels: Labels, length: int) -> bool:
        """Whether the beginning of a labeling is legal and can go on to a legal end."""
        if not all(self.moves(u, v) for u, v in zip((None, *labels), labels)):
            return False
        ways = {labels[-1]}
        for _ in range(length - len(labels)):
            ways = {v for u in ways for v in range(self.n_labels) if self.moves(u, v)}
        return any(self.ends(v) for v in ways)

    def extend(self, x: list[Position], beam: list[Labels]) -> list[Labels]:
        """The best labelings one label longer; of equal ones the lower label, then the one from the better."""
        ways = [
            ((-self.score(x, (*labels, v)), v, rank), (*labels, v))
            for rank, labels in enumerate(beam)
            for v in range(self.n_labels)
            if self.possible((*labels, v), len(x))
        ]
        return [labels for _, labels in sorted(ways)[: self.width]]

    def find(self, x: list[Position]) -> Labels:
        """The labeling that the search finds."""
        beam: list[Labels] = [()]
        for _ in x:
            beam = self.extend(x, beam)
        return beam[0]

    def move(self, x: list[Position], labels: Labels, step: float, truth: Labels) -> None:
        """Add the features of the beginning of a labeling to the weights, each as often as its true label counts."""
        for t in range(1, len(labels) + 1):
            share = step * self.label_weights[truth[t - 1]]
            for key, value in self.features(x, labels[:t]).items():
                self.weights[key] += share * value
                self.totals[key] += self.n_steps * share * value

    def learn(self, x: list[Position], y: Labels, update: str, weight: float = 1.0) -> float:
        """Learn from a labelled sequence; by how much wrong labelings were above the truth."""
        loss = {"early": self._early, "beam": self._beam, "max_violation": self._late, "full": self._late}[update](
            x, y, update, weight
        )
        self.n_steps += 1
        return loss

    def _fix(self, x: list[Position], y: Labels, wrong: list[Labels], weight: float) -> float:
        above = weight * (self.score(x, wrong[0]) - self.score(x, y[: len(wrong[0])]))
        for labels in wrong:
            self.move(x, labels, -weight / len(wrong), y)
        self.move(x, y[: len(wrong[0])], weight, y)
        return above

    def _early(self, x: list[Position], y: Labels, update: str, weight: float) -> float:
        """Collins and Roark 2004: stop where the truth falls out of the beam."""
        beam: list[Labels] = [()]
        for t in range(1, len(x) + 1):
            beam = self.extend(x, beam)
            if y[:t] not in beam:
                return self._fix(x, y, beam[:1], weight)
        return self._fix(x, y, beam[:1], weight) if beam[0] != y else 0.0

    def _beam(self, x: list[Position], y: Labels, update: str, weight: float) -> float:
        """Daumé and Marcu 2005: away from all that is better than the truth, and go on from the truth."""
        beam: list[Labels] = [()]
        loss = 0.0
        for t in range(1, len(x) + 1):
            beam = self.extend(x, beam)
            if y[:t] not in beam:
                loss += self._fix(x, y, beam, weight)
                beam = [y[:t]]
            elif t == len(x) and beam[0] != y:
                loss += self._fix(x, y, beam[: beam.index(y)], weight)
        return loss

    def _late(self, x: list[Position], y: Labels, update: str, weight: float) -> float:
        """Huang, Fayong and Guo 2012: where the best is farthest above the truth; or the whole sequence at any rate."""
        beam: list[Labels] = [()]
        found: list[tuple[float, int, Labels]] = []
        for t in range(1, len(x) + 1):
            beam = self.extend(x, beam)
            if beam[0] != y[:t]:
                found.append((self.score(x, beam[0]) - self.score(x, y[:t]), t, beam[0]))
        if beam[0] == y:
            return 0.0
        return self._fix(x, y, [max(found)[2] if update == "max_violation" else beam[0]], weight)

    def averaged(self) -> dict[Key, float]:
        """The average of the weights after every sequence."""
        return {key: w - self.totals[key] / max(self.n_steps, 1) for key, w in self.weights.items()}
