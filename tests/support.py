"""What tests share that are no fixtures."""

import json
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[1]
FUSEPROOF = Path(sysconfig.get_path("scripts")) / "fuseproof"


def site(run: Path, number: int) -> Path:
    """The folder of a run's site."""
    return next(run.glob(f"*/sites/{number:03d}_*"))


def edit_json(path: Path, change) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
