"""What Python runs as it starts in the workers of joins: see `streamjoin.spark.worker`."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

if __name__ == "sitecustomize":
    others = [entry for entry in sys.path if Path(entry) != Path(__file__).parent]
    hidden = PathFinder.find_spec("sitecustomize", others)
    if hidden and hidden.loader:  # by this module: Python runs the first that it finds
        sys.modules["sitecustomize"] = module_from_spec(hidden)
        hidden.loader.exec_module(sys.modules["sitecustomize"])

    from streamjoin.spark.worker import without_archives

    sys.path[:] = without_archives(sys.path)
