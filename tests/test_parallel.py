from __future__ import annotations

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.inference import Workspace, marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.parallel import MAX_LANES, Lanes, count_lanes, count_threads, plan_chunks

from .reference.cases import make_case


@given(lengths=st.lists(st.integers(1, 50), max_size=60), target=st.integers(1, 80))
def test_chunks_hold_every_sequence_once_and_stop_at_the_target(lengths, target):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    plan = plan_chunks(offsets, target)
    assert plan[0] == 0
    assert plan[-1] == len(lengths)
    assert (np.diff(plan) > 0).all()
    for a, b in itertools.pairwise(plan):
        assert offsets[b - 1] - offsets[a] < target  # without its last sequence it has not reached it
        assert offsets[b] - offsets[a] >= target or b == len(lengths)


def test_lanes_by_the_data_only():
    assert count_lanes(1000, 100) == MAX_LANES
    assert count_lanes(1000, 3) == 3
    assert count_lanes(20_000_000, 100) == 2
    assert count_lanes(10**9, 100) == 1
    assert count_lanes(10, 0) == 1


def test_threads():
    cores = count_threads(-1)
    assert count_threads(None) == count_threads(1) == 1
    assert count_threads(3) == 3
    assert 1 <= cores <= (os.cpu_count() or 1)
    assert count_threads(-1000) == 1
    with pytest.raises(InputError, match="n_jobs=0"):
        count_threads(0)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_every_chunk_once_in_its_lane_and_in_order(n_jobs):
    done = [[] for _ in range(4)]
    with Lanes(n_jobs, 4) as lanes:
        for _ in range(2):
            lanes.run(lambda lane, chunk: done[lane].append(chunk), 11)
    assert done == [2 * list(range(lane, 11, 4)) for lane in range(4)]


def edge_sums(case, n_jobs):
    """Log partitions and edge sums of a corpus, as a trainer adds them."""
    edges, offsets = SharedEdges.from_scores(case.edges), case.offsets.astype(np.int64)
    plan = plan_chunks(offsets, 10)
    n_chunks = len(plan) - 1
    with Lanes(n_jobs, count_lanes(9, n_chunks)) as lanes:
        work = [Workspace() for _ in range(lanes.n_lanes)]
        sums = np.zeros((lanes.n_lanes, *case.edges.shape))
        totals = np.zeros(lanes.n_lanes)

        def add(lane, chunk):
            a, b = plan[chunk], plan[chunk + 1]
            rows = slice(offsets[a], offsets[b])
            cuts = offsets[a : b + 1] - offsets[a]
            result = marginals(ChainPotentials(case.node[rows], cuts, edges), work[lane])
            sums[lane] += result.edge_sums
            totals[lane] += result.log_partition.sum()

        lanes.run(add, n_chunks)
    return sum(sums), sum(totals)


def test_the_number_of_threads_does_not_change_a_bit(rng):
    case = make_case(rng, 5, rng.integers(1, 9, size=80))
    once = edge_sums(case, 1)
    for n_jobs in (2, 8):
        again = edge_sums(case, n_jobs)
        np.testing.assert_array_equal(again[0], once[0])
        assert again[1] == once[1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_stops_all_lanes_and_is_raised(n_jobs):
    done = []

    def work(lane, chunk):
        if chunk == 2:
            raise InputError("bad chunk", sequence=5)
        time.sleep(0.002)
        done.append(chunk)

    with Lanes(n_jobs, 2) as lanes, pytest.raises(InputError, match="bad chunk"):
        lanes.run(work, 10_000)
    assert len(done) < 1000


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send Ctrl-C to one process")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_all_lanes(n_jobs):
    done = []

    def work(lane, chunk):
        time.sleep(0.002)
        done.append(chunk)

    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), Lanes(n_jobs, 4) as lanes:
        lanes.run(work, 100_000)
    timer.join()
    assert time.perf_counter() - begun < 10
    count = len(done)
    time.sleep(0.05)
    assert len(done) == count  # nothing goes on in the background
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("hedgerow")]
