"""How an experiment is run: which seeds, which grids, how long, in how many processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from hedgerow.errors import InputError

DECODERS = ("posterior", "viterbi")  # what the papers call forward-backward and Viterbi predictions
LEVEL = 0.05  # a smaller p-value counts as significant


def _silent(message: str) -> None:
    pass


@dataclass(frozen=True)
class Settings:
    """What an experiment may be told.

    seeds : of the cross-validation, of draws, and of what is held out; figures are means over them
    n_jobs : processes that train at the same time; measurements of time take one
    folder : where the data sets lie; None for the folder that HEDGEROW_DATA names
    quick : small parts of the data, small grids, few iterations: to see that it runs, not for the figures
    inner_folds : of the cross-validation within the training part, which chooses parameters
    outer_folds : of the papers' lines, by paper; None leaves one paper out at a time
    max_iterations : the longest boosting run that the cross-validation looks at
    shrinkages, leaves, variances : the grids of Hao 2009, section 3.5: λ of TreeCRF, L where there is no λ, and the
        variance of the weights' prior of the linear model (l2 = 1 / (2·variance))
    say : told what is being done
    """

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    n_jobs: int = 1
    folder: str | None = None
    quick: bool = False
    inner_folds: int = 5
    outer_folds: int | None = 5
    max_iterations: int = 250
    shrinkages: tuple[float, ...] = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)
    leaves: tuple[int, ...] = (30, 50, 75, 100)
    variances: tuple[float, ...] = (1.0, 5.0, 10.0, 20.0)
    say: Callable[[str], None] = _silent

    def __post_init__(self) -> None:
        for name, low in (("n_jobs", 1), ("inner_folds", 2), ("max_iterations", 1)):
            if getattr(self, name) < low:
                raise InputError(f"{name} is {getattr(self, name)}", hint=f"Give at least {low}.")
        if not self.seeds:
            raise InputError("there is no seed", hint="Give at least one.")
        if self.outer_folds is not None and self.outer_folds < 2:
            raise InputError(f"folds is {self.outer_folds}", hint="Give at least 2, or leave one out.")

    def quickly(self) -> Settings:
        """The same with everything small."""
        return replace(
            self,
            quick=True,
            seeds=self.seeds[:2],
            inner_folds=2,
            outer_folds=2,
            max_iterations=8,
            shrinkages=(5.0, 40.0),
            leaves=(30, 100),
            variances=(1.0, 10.0),
        )

    def alone(self) -> Settings:
        """The same for a process that is one of several: it starts no others and says nothing."""
        return replace(self, n_jobs=1, say=_silent)

    def to_dict(self) -> dict[str, Any]:
        """What may stand in a JSON file: nothing of the machine."""
        own = asdict(self)
        del own["say"], own["folder"]
        return own
