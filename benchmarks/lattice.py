"""One sweep of belief propagation on a 512×512 grid against a plain NumPy copy of what it reads and writes.

    python benchmarks/lattice.py [--size 512] [--megapixels 4] [--peers 256] [--force]

Two labels, a table of scores for each edge, double precision, one thread, time of the processor. A sweep sends every
message once: "parallel" makes all messages from the old ones, "sequential" goes back and forth, with every node awake.
The copy is `numpy.copyto` of the messages, the node scores and the edge scores into arrays that are there; the target
is a fifth of its speed. Beside it the same update written in NumPy, as one would for a grid, whose messages must agree.
Sweep, copy and NumPy take turns, and the best of each counts, which other work on the machine spoils least.

Then an image of four megapixels, noise on shapes, from scores to labels. Then PGMax and pgmpy where they are installed,
in `benchmarks/lattice_peers.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.lattice_peers import measure_peers
from benchmarks.machine import Watch, describe, require_quiet

TARGET = 0.2
ROUNDS = 10


def make(size: int, n_labels: int) -> Any:
    """Random scores on a grid."""
    from hedgerow.lattice.graphs import grid_topology
    from hedgerow.lattice.scores import Potentials

    rng = np.random.default_rng(0)
    topology, _ = grid_topology((size, size), 4)
    nodes = rng.normal(size=(topology.n_nodes, n_labels))
    return Potentials(topology, nodes, 0.5 * rng.normal(size=(topology.n_edges, n_labels, n_labels)))


def copier(passing: Any) -> Callable[[], None]:
    own = [passing.messages, passing.potentials.node_scores, passing.potentials.edge_scores]
    room = [np.empty_like(array) for array in own]

    def copy() -> None:
        for into, array in zip(room, own):
            np.copyto(into, array)

    return copy


class NumpyGrid:
    """Parallel updates on a grid in NumPy: messages from the left, the right, above and below are four arrays."""

    def __init__(self, potentials: Any, size: int) -> None:
        K = potentials.n_labels
        self.nodes = np.exp(potentials.node_scores - potentials.node_scores.max(axis=1, keepdims=True))
        self.nodes = self.nodes.reshape(size, size, K)
        tops = potentials.edge_scores.max(axis=(1, 2), keepdims=True)
        tables = np.exp(potentials.edge_scores - tops)
        steps = potentials.topology.ends[:, 1] - potentials.topology.ends[:, 0]
        self.across = tables[steps == 1].reshape(size, size - 1, K, K)
        self.down = tables[steps == size].reshape(size - 1, size, K, K)
        self.messages = {side: np.ones((size, size, K)) for side in ("left", "right", "above", "below")}

    def sweep(self) -> None:
        m = self.messages
        whole = self.nodes * m["left"] * m["right"] * m["above"] * m["below"]
        sent = {
            "left": np.einsum("ijk,ijkl->ijl", (whole / m["right"])[:, :-1], self.across),
            "right": np.einsum("ijl,ijkl->ijk", (whole / m["left"])[:, 1:], self.across),
            "above": np.einsum("ijk,ijkl->ijl", (whole / m["below"])[:-1], self.down),
            "below": np.einsum("ijl,ijkl->ijk", (whole / m["above"])[1:], self.down),
        }
        fresh = {side: np.ones_like(array) for side, array in m.items()}
        for side, into in (
            ("left", np.s_[:, 1:]),
            ("right", np.s_[:, :-1]),
            ("above", np.s_[1:]),
            ("below", np.s_[:-1]),
        ):
            fresh[side][into] = sent[side] / sent[side].max(axis=-1, keepdims=True)
        self.messages = fresh


def fastest(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least time of the processor of each, called in turn."""
    found = dict.fromkeys(functions, np.inf)
    for _ in range(rounds + 1):
        for name, function in functions.items():
            begin = time.process_time()
            function()
            found[name] = min(found[name], time.process_time() - begin)
    return found


def whole_sweep(passing: Any) -> None:
    """A sweep in which every node sends, though messages may be at rest by now."""
    passing.wake()
    passing.sweep(0.0, False)


def measure_sweeps(size: int) -> dict[str, Any]:
    from hedgerow.lattice.inference.passing import make_passing

    results: dict[str, Any] = {}
    for K in (2, 5):
        potentials = make(size, K)
        passing = make_passing(potentials)
        plain = NumpyGrid(potentials, size)
        check = make_passing(potentials)
        for _ in range(3):
            check.flood(0.0, False)
            plain.sweep()
        own = check.messages[::2][np.diff(potentials.topology.ends, axis=1)[:, 0] == 1]
        assert np.allclose(own, plain.messages["left"][:, 1:].reshape(-1, K), atol=1e-9)
        times = fastest(
            {
                "copy": copier(passing),
                "parallel": lambda passing=passing: passing.flood(0.0, False),
                "sequential": lambda passing=passing: whole_sweep(passing),
                "maximising": lambda passing=passing: passing.flood(0.0, True),
                "NumPy": plain.sweep,
            },
            ROUNDS if K == 2 else 5,
        )
        results[str(K)] = times
        print(f"\n{size}×{size}, K={K}", " " * 6, "ms     speed of the copy = 1")
        for name, seconds in times.items():
            ratio = times["copy"] / seconds
            goal = (
                f"   target {TARGET}  {'reached' if ratio >= TARGET else 'MISSED'}"
                if (name, K) == ("parallel", 2)
                else ""
            )
            print(f"{name:12s} {1e3 * seconds:12.1f} {ratio:12.2f}{goal}", flush=True)
    return results


def measure_large(megapixels: float) -> dict[str, Any]:
    """From scores to labels, on one image."""
    from hedgerow.datasets.shapes import make_shapes
    from hedgerow.lattice.graphs import grid_topology
    from hedgerow.lattice.inference.infer import Inference
    from hedgerow.lattice.scores import Potentials

    side = round(np.sqrt(megapixels * 1e6))
    [image], [mask] = make_shapes(1, size=side, noise=0.7, n_shapes=8)
    topology, _ = grid_topology((side, side), 4)
    score = 2.0 * (image.ravel() - 0.5)
    potentials = Potentials(topology, np.column_stack([-score, score]), np.array([[[0.8, -0.8], [-0.8, 0.8]]]))
    alone = float(((image > 0.5) == mask).mean())
    results: dict[str, Any] = {"side": side, "alone": alone}
    print(f"\n{side}×{side} pixels, {alone:.2%} right by a threshold")
    for method in ("loopy", "tree_reweighted"):
        begin = time.process_time()
        found = Inference(method, tol=1e-3)(potentials)
        seconds = time.process_time() - begin
        right = float((found.node_probs.argmax(axis=1) == mask.ravel()).mean())
        print(f"{method}: {seconds:.1f} s, {found.n_updates} updates, at rest: {found.converged}, {right:.2%} right")
        results[method] = {"seconds": seconds, "updates": found.n_updates, "right": right}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--megapixels", type=float, default=4.0, help="0 leaves the large image out")
    parser.add_argument("--peers", type=int, default=256, help="the grid that peers are given; 0 leaves them out")
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--output", default="benchmarks/results/lattice.json")
    arguments = parser.parse_args()
    load_before = require_quiet(arguments.force)
    watch = Watch()
    results: dict[str, Any] = {"machine": describe(("hedgerow", "numpy", "numba"))}
    results["sweeps"] = measure_sweeps(arguments.size)
    if arguments.megapixels > 0:
        results["large"] = measure_large(arguments.megapixels)
    if arguments.peers > 0:
        results["peers"] = measure_peers(make, arguments.peers)
    results["other_load"] = [load_before, watch.others()]
    Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.output).write_text(json.dumps(results, indent=1))
    print(f"\nwritten to {arguments.output}")


if __name__ == "__main__":
    main()
