"""An oracle: conlleval as a loop over lines, one rule a line, with the E and S rules that IOBES users add to it.

Slow and literal on purpose. Nothing here is shared with `hedgerow.metrics`.
"""

from __future__ import annotations

from collections import Counter

# (tag before, tag here) pairs between which a chunk of one type ends.
ENDS = {
    ("B", "B"), ("B", "O"), ("B", "S"),
    ("I", "B"), ("I", "O"), ("I", "S"),
    ("E", "B"), ("E", "I"), ("E", "O"), ("E", "E"), ("E", "S"),
    ("S", "B"), ("S", "I"), ("S", "O"), ("S", "E"), ("S", "S"),
}  # fmt: skip
# (tag before, tag here) pairs between which a chunk of one type starts.
STARTS = {
    ("B", "B"), ("I", "B"), ("O", "B"), ("E", "B"), ("S", "B"),
    ("O", "I"), ("E", "I"), ("S", "I"),
    ("O", "E"), ("E", "E"), ("S", "E"),
    ("B", "S"), ("I", "S"), ("O", "S"), ("E", "S"), ("S", "S"),
}  # fmt: skip


def split(label: str) -> tuple[str, str]:
    tag, hyphen, kind = label.partition("-")
    return (tag, kind) if hyphen else (label, "")


def chunk_ends(before: tuple[str, str], here: tuple[str, str]) -> bool:
    return (before[0], here[0]) in ENDS or (before[0] != "O" and before[1] != here[1])


def chunk_starts(before: tuple[str, str], here: tuple[str, str]) -> bool:
    return (before[0], here[0]) in STARTS or (here[0] != "O" and before[1] != here[1])


def lines(y_true: list[list[str]], y_pred: list[list[str]]) -> list[tuple[str, str] | None]:
    """The rows of conlleval's input: pairs of labels, and None for the empty line after a sentence."""
    rows: list[tuple[str, str] | None] = []
    for true, predicted in zip(y_true, y_pred, strict=True):
        rows.extend(zip(true, predicted, strict=True))
        rows.append(None)
    return rows


class Evaluation:
    """Reads the lines once, as the script does, and counts tokens and chunks."""

    def __init__(self, y_true: list[list[str]], y_pred: list[list[str]]) -> None:
        self.tokens = self.right = 0
        self.true: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.correct: Counter[str] = Counter()
        in_correct = False
        last_true = last_found = ("O", "")
        for line in lines(y_true, y_pred):
            true, found = ("O", "O") if line is None else line
            here_true, here_found = split(true), split(found)
            true_ends = chunk_ends(last_true, here_true)
            found_ends = chunk_ends(last_found, here_found)
            if in_correct:
                if true_ends and found_ends and last_found[1] == last_true[1]:
                    in_correct = False
                    self.correct[last_true[1]] += 1
                elif true_ends != found_ends or here_found[1] != here_true[1]:
                    in_correct = False
            true_starts = chunk_starts(last_true, here_true)
            found_starts = chunk_starts(last_found, here_found)
            if true_starts and found_starts and here_found[1] == here_true[1]:
                in_correct = True
            self.true[here_true[1]] += true_starts
            self.found[here_found[1]] += found_starts
            if line is not None:
                self.right += here_true == here_found
                self.tokens += 1
            last_true, last_found = here_true, here_found
        if in_correct:
            self.correct[last_true[1]] += 1

    def text(self) -> str:
        """What the script prints."""
        true, found, correct = self.true.total(), self.found.total(), self.correct.total()
        out = f"processed {self.tokens} tokens with {true} phrases; found: {found} phrases; correct: {correct}.\n"
        out += f"accuracy: {100 * self.right / self.tokens:6.2f}%; " + rates(true, found, correct)
        for kind in sorted(set(+self.true) | set(+self.found)):
            out += f"\n{kind:>17}: " + rates(self.true[kind], self.found[kind], self.correct[kind])
            out += f"  {self.found[kind]}"
        return out


def rates(true: int, found: int, correct: int) -> str:
    precision = 100 * correct / found if found else 0.0
    recall = 100 * correct / true if true else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"


def chunks(labels: list[str]) -> list[tuple[str, int, int]]:
    """(type, start, end) of each chunk of one sentence, with `end` the place after the last token."""
    found = []
    last, start = ("O", ""), 0
    for t, label in enumerate([*labels, "O"]):
        here = split(label)
        if chunk_ends(last, here):
            found.append((last[1], start, t))
        if chunk_starts(last, here):
            start = t
        last = here
    return found
