"""Every store of a ledger keeps its contract."""

from __future__ import annotations

import pytest

from contracts.ledger_contract import LedgerContract


class TestFile(LedgerContract):
    @pytest.fixture
    def address(self, tmp_path):
        return tmp_path / "budget.db"

    @pytest.fixture
    def other(self, tmp_path):
        return tmp_path / "other.db"


class TestServer(LedgerContract):
    @pytest.fixture
    def address(self, postgres):
        return postgres.url(postgres.database())

    @pytest.fixture
    def other(self, postgres):
        return postgres.url(postgres.database())
