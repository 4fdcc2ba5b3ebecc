"""Labels while the data comes
===========================

Somebody walks or rests; a watch sends the pulse. A stream gives the probability at once, by what has come so far; with
a lag of two moments it waits for these; and when all is over, `predict_proba` knows both sides of every moment.

Run it: `python examples/streaming.py [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from hedgerow import LinearCRF

LAG = 2
NAMES = ("at once", f"{LAG} moments later", "afterwards")
COLOURS = ("#eb9d5f", "#3f8f5b", "#14532d")


def make_days(n: int, rng: np.random.Generator) -> tuple[list[np.ndarray], list[list[str]]]:
    """Days of 120 moments, (120, 1) arrays of the pulse, and what was done."""
    walking = (rng.random((n, 120)) < 0.05).cumsum(axis=1) % 2 == 1
    pulse = rng.normal(70 + 9 * walking, 9)
    return list(pulse[..., None]), np.where(walking, "walks", "rests").tolist()


X, y = make_days(40, np.random.default_rng(0))
model = LinearCRF(window=0).fit(X[:30], y[:30])


# %%
# The probability that somebody walks at each moment: at once, with a lag, and afterwards.
def told(day: np.ndarray) -> list[np.ndarray]:
    walks = model.classes_.tolist().index("walks")
    found = []
    for lag in (0, LAG):
        stream = model.stream(lag)
        found.append(np.concatenate([stream.extend(day), stream.finish()])[:, walks])
    return [*found, model.predict_proba([day])[0][:, walks]]


lines = [told(day) for day in X[30:]]
for name, probs in zip(NAMES, zip(*lines)):
    right = np.mean([(p > 0.5) == (np.array(truth) == "walks") for p, truth in zip(probs, y[30:])])
    print(f"{name}: {right:.1%} of the moments right")

# %%
# The pulse above, the three probabilities below; grey where somebody walked.
figure = Figure(figsize=(7.2, 3.8), layout="constrained")
above, below = figure.subplots(2, sharex=True, height_ratios=(2, 3))
above.plot(X[30][:, 0], color="#1b2a22", linewidth=0.8)
above.set_ylabel("pulse")
for line, name, colour in zip(lines[0], NAMES, COLOURS):
    below.plot(line, color=colour, label=name, linewidth=1.4)
below.set_ylabel("probability of walking")
below.set_xlabel("moment")
for ax in (above, below):
    ax.fill_between(range(120), 0, 1, np.array(y[30]) == "walks", transform=ax.get_xaxis_transform(),
                    color="#e5e9e6", step="mid", linewidth=0)  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
below.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.62, 1.0))
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150, facecolor="white")
