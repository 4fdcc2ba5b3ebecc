"""A pass over 28 million positions, as many as Gross et al. 2007 train on: seconds and peak memory, by objective.

    python benchmarks/long_sequences.py [--sequences 28] [--length 1000000] [--jobs 2]

The data is made: three labels in long runs, and at each position one of 64 trimers. It is made as arrays, so that what
is measured is training. A pass is the loss and its gradient by the weights; the first one lists the features too.
Memory is the largest resident size in the passes of an objective, less what the data has.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import describe, peak_bytes, require_quiet, resident_bytes

LABELS = ("c", "i", "n")
STAY = 0.995
OBJECTIVES = ("log_likelihood", "pointwise", "labelwise", "margin")
MEGABYTE = 1 << 20


def make_dataset(n_sequences: int, length: int, seed: int = 0) -> Any:
    """A Dataset with one categorical column, "trimer", drawn from a hidden Markov model."""
    from hedgerow.data.dataset import Dataset
    from hedgerow.data.encoding import learn
    from hedgerow.datasets import MadeChain

    names = ["".join(bases) for bases in product("acgt", repeat=3)]
    labels = [LABELS[i % len(LABELS)] for i in range(len(names))]
    example = learn([[{"trimer": name} for name in names]], [labels])
    rng = np.random.default_rng(seed)
    K = len(LABELS)
    same = np.eye(K, dtype=bool)
    chain = MadeChain(
        start=np.full(K, 1 / K),
        transitions=np.where(same, STAY, (1 - STAY) / (K - 1)),
        emissions=rng.dirichlet(np.full(len(names), 20.0), size=K),
    )
    trimers, states = chain.sample(np.full(n_sequences, length), rng)
    offsets = length * np.arange(n_sequences + 1)
    return Dataset(
        schema=example.schema,
        offsets=offsets,
        start=offsets[:-1].copy(),
        codes=example.codes[0, trimers].astype(np.int32)[None],
        numeric=np.empty((0, offsets[-1])),
        attr_ptr=np.zeros(offsets[-1] + 1, dtype=np.int64),
        attr_id=np.empty(0, dtype=np.int32),
        attr_val=None,
        seq_codes=np.empty((0, n_sequences), dtype=np.int32),
        seq_numeric=np.empty((0, n_sequences)),
        labels=states.astype(np.int32),
    )


def measure(dataset: Any, jobs: int) -> list[dict[str, Any]]:
    """Each objective at counted weights: seconds of the first pass and of one more, and memory above the data."""
    data = resident_bytes()
    from hedgerow.chain.objectives import make_objective
    from hedgerow.chain.structure.states import StateSpace
    from hedgerow.linear.chain import Evaluation, LinearChain
    from hedgerow.models.crf.linear_layout import lay_out
    from hedgerow.parallel import Lanes, count_lanes, plan_chunks
    from hedgerow.training.counting import count_weights

    K = dataset.n_labels
    layout, _ = lay_out(
        dataset, StateSpace.full(K), transitions="all", pairs="observed", min_frequency=0.0, transition_columns=None
    )
    weights = count_weights(dataset, layout)
    n_lanes = count_lanes(layout.n_weights, len(plan_chunks(dataset.offsets)) - 1)
    rows = []
    for name in OBJECTIVES:
        resident_bytes()  # a new peak begins
        with Lanes(jobs, n_lanes) as lanes:
            evaluate = Evaluation(LinearChain(layout), dataset, make_objective(name, n_labels=K), lanes)
            seconds = []
            for _ in range(2):
                began = time.perf_counter()
                loss, _ = evaluate(weights)
                seconds.append(time.perf_counter() - began)
        extra = peak_bytes() - data
        rows.append(
            {
                "objective": name,
                "loss": loss,
                "first_seconds": seconds[0],
                "seconds": seconds[1],
                "extra_megabytes": extra / MEGABYTE,
                "extra_bytes_a_position": extra / dataset.n_positions,
            }
        )
        print(_line(rows[-1]), flush=True)
    return rows


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['objective']:15s} first pass {row['first_seconds']:7.1f} s   a pass {row['seconds']:7.1f} s   "
        f"{row['extra_megabytes']:7.0f} MB above the data, {row['extra_bytes_a_position']:.0f} bytes per position"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--sequences", type=int, default=28)
    parser.add_argument("--length", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--output", default="benchmarks/results/long_sequences.json")
    arguments = parser.parse_args()
    load = require_quiet(arguments.force)
    measure(make_dataset(8, 2_000), arguments.jobs)  # compile on a tiny corpus first
    before = resident_bytes()
    dataset = make_dataset(arguments.sequences, arguments.length)
    made = (resident_bytes() - before) / MEGABYTE
    print(f"{dataset.n_positions:,} positions in {dataset.n_sequences} sequences: {made:.0f} MB of data", flush=True)
    rows = measure(dataset, arguments.jobs)
    record = {
        "machine": describe(("hedgerow", "numpy", "numba")),
        "other_load": load,
        "jobs": arguments.jobs,
        "n_sequences": dataset.n_sequences,
        "n_positions": dataset.n_positions,
        "data_megabytes": made,
        "whole_peak_megabytes": peak_bytes() / MEGABYTE,
        "rows": rows,
    }
    Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.output).write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
