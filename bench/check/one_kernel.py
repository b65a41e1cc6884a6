"""The peer of `fuseproof check`: checks one kernel of a run in a Python process of its own, the way
one would by hand: import torch, load the recorded object, run it and its fragment, compare.

    python bench/check/one_kernel.py RUN SITE_FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/python/capture"))

from evaluator import Site

if __name__ == "__main__":
    site = Site(Path(sys.argv[1]), Path(sys.argv[2]))
    found = [problem for call in site.calls for problem in site.differences(call)]
    print("\n".join(found) or "match")
    sys.exit(1 if found else 0)
