"""The engines that ship, the example, and one with all that is optional: all keep the published contract."""

from examples.engine.clew_sticky import Sticky

from clew.engine.legacy import Legacy
from clew.engine.lossless import Lossless
from clew.testing import EngineContract
from tests.contract.keeper import Keeper


class TestLegacy(EngineContract):
    def make(self, host):
        return Legacy(host)


class TestLossless(EngineContract):
    def make(self, host):
        return Lossless(host)


class TestSticky(EngineContract):
    def make(self, host):
        return Sticky(host)


class TestKeeper(EngineContract):
    def make(self, host):
        return Keeper(host, self.place / "turns.jsonl")
