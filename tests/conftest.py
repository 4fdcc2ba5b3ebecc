"""What every test may ask for: one source of randomness, the data folder, and how hard Hypothesis works.

HEDGEROW_SEED      an integer added to the seed of `rng`: run the suite again with other numbers
HEDGEROW_DATA      the folder of public data sets; tests that need it skip where it is not set
HEDGEROW_THOROUGH  set to 1, Hypothesis draws fresh and many examples instead of the same few each time
"""

from __future__ import annotations

import gc
import os
import signal
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("default", derandomize=True, deadline=None, database=None)
settings.register_profile("thorough", derandomize=False, deadline=None, max_examples=2000)
# As plain Python kernels take a hundred times as long, and the same laws are tried in full where they are compiled.
settings.register_profile("plain", settings.get_profile("default"), max_examples=25)
_PROFILE = "plain" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "default"
settings.load_profile("thorough" if os.environ.get("HEDGEROW_THOROUGH") == "1" else _PROFILE)

# A job of a shell in the background ignores Ctrl-C, and so would the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as with nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# A process holds over a million objects once it has found all tests. Looking for garbage among them took a third of the
# time of finding the tests, and a second for each full search after that: they stay, so that it need not look.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator that depends on the name of the test and on HEDGEROW_SEED, and on nothing else."""
    seed = int(os.environ.get("HEDGEROW_SEED", "0"))
    return np.random.default_rng([zlib.crc32(request.node.nodeid.encode()), seed])


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder named by HEDGEROW_DATA."""
    named = os.environ.get("HEDGEROW_DATA")
    if not named:
        pytest.skip("HEDGEROW_DATA is not set: it names the folder of public data sets")
    folder = Path(named)
    if not folder.is_dir():
        raise NotADirectoryError(f"HEDGEROW_DATA names {named}, which is not a folder")
    return folder
