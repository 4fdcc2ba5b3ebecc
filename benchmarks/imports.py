"""How long the first steps take: `import hedgerow`, `from hedgerow import LinearCRF`, `hedgerow --help`.

    python benchmarks/imports.py

Each is timed in processes of its own, the best of several, and compared with its target.
"""

from __future__ import annotations

import subprocess
import sys
import time


def best(command: list[str], repeats: int = 7) -> float:
    """Wall time of a command, the best of several runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    python = [sys.executable, "-c"]
    bare = best([*python, "pass"])
    sklearn = best([*python, "import sklearn.base, sklearn.utils.validation"])
    rows = [
        ("import hedgerow", best([*python, "import hedgerow"]) - bare, 0.3),
        ("LinearCRF beyond sklearn.base", best([*python, "from hedgerow import LinearCRF"]) - sklearn, 0.2),
        ("hedgerow --help", best([sys.executable, "-m", "hedgerow", "--help"]), 0.5),
    ]
    for name, found, target in rows:
        print(f"{name:32s} {found:6.3f} s  target {target:.1f}  {'reached' if found <= target else 'MISSED'}")


if __name__ == "__main__":
    main()
