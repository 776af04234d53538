"""Every engine keeps the contract."""

from contracts.engine_contract import EngineContract
from sfumato.engines.memory import MemoryEngine


class TestMemoryEngine(EngineContract):
    def engines(self):
        return [MemoryEngine(), *(MemoryEngine(chunk_rows=rows) for rows in (1, 7, 64, 999, 1000, 1001))]
