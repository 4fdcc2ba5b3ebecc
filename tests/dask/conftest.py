"""A cluster in this process: its workers are threads, so that tests may change what they use."""

from __future__ import annotations

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as made,
    ):
        yield made
