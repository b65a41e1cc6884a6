"""Places that tests share."""

import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
FUSEPROOF = Path(sysconfig.get_path("scripts")) / "fuseproof"
