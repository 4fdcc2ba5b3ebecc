"""Belief propagation by PGMax and by pgmpy, on the scores that `benchmarks/lattice.py` makes. Rows where importable.

PGMax (on JAX, single precision) does the same sums as our parallel updates, so the beliefs after as many updates must
agree. Its graph is built and compiled before the clock runs. pgmpy sums exactly, by a junction tree, which small grids
alone bear; ours on the same grid are loopy, and the largest difference of a probability is printed.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

UPDATES = 100
EXACT_SIDE = 8


def is_there(module: str) -> bool:
    """Whether a peer is installed; one line says so where it is not."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"\n{module} is not installed: left out")
    return found


def clocked(function: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The least time of the processor, all threads together, of some calls after a first one; and what was returned."""
    result, least = function(), np.inf
    for _ in range(rounds):
        begin = time.process_time()
        result = function()
        least = min(least, time.process_time() - begin)
    return least, result


def measure_pgmax(potentials: Any, side: int) -> dict[str, Any]:
    """The same number of parallel updates by both."""
    import jax
    from pgmax import fgraph, fgroup, infer, vgroup

    from hedgerow.lattice.inference.passing import make_passing

    def ours() -> Any:
        passing = make_passing(potentials)
        for _ in range(UPDATES):
            passing.flood(0.0, False)
        return passing.node_probs()

    begin = time.process_time()
    own = vgroup.NDVarArray(num_states=potentials.n_labels, shape=(side, side))
    graph = fgraph.FactorGraph(variable_groups=own)
    nodes = [own[divmod(int(i), side)] for i in range(side * side)]
    pairs = [[nodes[i], nodes[j]] for i, j in potentials.topology.ends.tolist()]
    graph.add_factors(fgroup.PairwiseFactorGroup(pairs, potentials.edge_scores))
    inferer = infer.build_inferer(graph.bp_state, backend="bp")
    arrays = inferer.init(evidence_updates={own: potentials.node_scores.reshape(side, side, -1)})
    built = time.process_time() - begin

    @jax.jit
    def run(arrays: Any) -> Any:
        after = inferer.run(arrays, num_iters=UPDATES, damping=0.0, temperature=1.0)
        return infer.get_marginals(inferer.get_beliefs(after))[own]

    def theirs() -> Any:
        return jax.block_until_ready(run(arrays))

    seconds, probs = clocked(ours, 5)
    peer, peer_probs = clocked(theirs, 1)
    apart = float(np.abs(np.asarray(peer_probs).reshape(probs.shape) - probs).max())
    print(f"\n{side}×{side}, K={potentials.n_labels}, {UPDATES} parallel updates and the beliefs, s of the processor")
    print(f"hedgerow {seconds:8.2f}")
    print(f"PGMax    {peer:8.2f}   {peer / seconds:.1f} times ours; to build its graph {built:.1f} s more")
    print(f"largest difference of a probability: {apart:.1e}", flush=True)
    return {"side": side, "hedgerow": seconds, "pgmax": peer, "built": built, "apart": apart}


def measure_pgmpy(potentials: Any, side: int) -> dict[str, Any]:
    """All node probabilities of a small grid: exact by pgmpy, loopy by ours."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteMarkovNetwork

    from hedgerow.lattice.inference.infer import Inference

    K, n = potentials.n_labels, side * side
    network = DiscreteMarkovNetwork(potentials.topology.ends.tolist())
    network.add_factors(*(DiscreteFactor([i], [K], np.exp(potentials.node_scores[i])) for i in range(n)))
    for (i, j), table in zip(potentials.topology.ends.tolist(), np.exp(potentials.edge_scores)):
        network.add_factors(DiscreteFactor([i, j], [K, K], table))

    def theirs() -> Any:
        exact = BeliefPropagation(network)
        exact.calibrate()
        cliques = exact.get_clique_beliefs()
        probs = np.empty((n, K))
        for i in range(n):
            clique = min((c for c in cliques if i in c), key=len)
            own = cliques[clique].marginalize([j for j in clique if j != i], inplace=False)
            probs[i] = own.values / own.values.sum()
        return probs

    seconds, found = clocked(lambda: Inference()(potentials), 5)
    peer, probs = clocked(theirs, 1)
    apart = float(np.abs(probs - found.node_probs).max())
    print(f"\n{side}×{side}, K={K}, all node probabilities, s of the processor")
    print(f"hedgerow, loopy {seconds:10.5f}")
    print(f"pgmpy, exact    {peer:10.5f}   {peer / seconds:,.0f} times ours")
    print(f"largest difference of a probability: {apart:.1e}", flush=True)
    return {"side": side, "hedgerow": seconds, "pgmpy": peer, "apart": apart}


def measure_peers(make: Callable[[int, int], Any], side: int) -> dict[str, Any]:
    """What each peer that is installed takes on scores that make(side, K) gives."""
    results: dict[str, Any] = {}
    if is_there("pgmax"):
        results["pgmax"] = measure_pgmax(make(side, 2), side)
    if is_there("pgmpy"):
        results["pgmpy"] = measure_pgmpy(make(EXACT_SIDE, 2), EXACT_SIDE)
    return results
