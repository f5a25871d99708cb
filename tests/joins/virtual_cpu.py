"""CPU time that is counted instead of measured, so that a budget does the same everywhere."""

from dataclasses import dataclass
from functools import partialmethod

import pytest

from streamjoin.local import LocalJoin
from streamjoin.shedding.costs import Costs


@dataclass
class VirtualCpu(Costs):
    """What operations cost in every local join; may change while one runs."""

    def install(self, patch: pytest.MonkeyPatch) -> "VirtualCpu":
        """Let all joins that are made from now on count by these costs."""
        patch.setattr(LocalJoin, "__init__", partialmethod(LocalJoin.__init__, costs=self))
        return self
