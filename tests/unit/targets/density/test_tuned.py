"""``sf.Tuned``: candidates and a share."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError


def test_candidates_are_frozen():
    listed = [1.0, [2.0, 3.0]]
    tuned = sf.Tuned(listed)
    listed.append(4.0)
    assert tuned.candidates == (1.0, (2.0, 3.0))
    assert tuned.share == 0.1
    with pytest.raises(AttributeError):
        tuned.share = 0.5


@pytest.mark.parametrize("candidates", ["ab", 1.0, None, {1.0, 2.0}, np.array([1.0, 2.0])])
def test_candidates_must_be_a_list(candidates):
    with pytest.raises(ParameterTypeError, match="candidates"):
        sf.Tuned(candidates)


@pytest.mark.parametrize("candidates", [[], [1.0]])
def test_there_must_be_something_to_choose(candidates):
    with pytest.raises(ParameterError, match="two or more"):
        sf.Tuned(candidates)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan"), float("inf")])
def test_the_share_lies_between_none_and_all(share):
    with pytest.raises(ParameterError, match="share"):
        sf.Tuned([1.0, 2.0], share=share)


@pytest.mark.parametrize("share", [None, "0.1", True])
def test_the_share_is_a_number(share):
    with pytest.raises(ParameterTypeError, match="share"):
        sf.Tuned([1.0, 2.0], share=share)


@pytest.mark.parametrize("candidates", [[1.0, -1.0], [1.0, "wide"], [1.0, [1.0, 2.0]], [1.0, 1e9], [1.0, 1e-9]])
def test_every_bandwidth_must_fit_the_box_before_one_is_selected(candidates, tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("a", limit=sf.Privacy(epsilon=10.0))
    with pytest.raises(ParameterError, match="bandwidth"):
        sf.release(sf.KDE(sf.Tuned(candidates)), np.zeros(9), sf.Box([(0, 9)]), sf.Privacy(epsilon=1.0), ledger=account)
    assert account.history() == []


def test_every_basis_must_be_one_before_one_is_selected(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("a", limit=sf.Privacy(epsilon=10.0))
    with pytest.raises(ParameterError, match="basis"):
        sf.release(
            sf.KDE(1.0), np.zeros(9), sf.Box([(0, 9)]), sf.Privacy(epsilon=1.0),
            basis=sf.Tuned([sf.Binning(9), "fine"]), ledger=account,
        )  # fmt: skip
    assert account.history() == []
