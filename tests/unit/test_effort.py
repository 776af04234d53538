"""What a quick run keeps of a grid."""

from itertools import product

from effort import spread


def test_the_cases_kept_take_every_value_of_each_parameter_where_they_can():
    cases = [frozenset({("a", a), ("b", b)}) for a, b in product(range(4), range(6))]
    kept = [cases[place] for place in spread(cases, 6)]
    assert len(kept) == 6 and frozenset.union(*kept) == frozenset.union(*cases)


def test_there_is_at_least_one_and_no_more_than_there_are():
    assert spread([frozenset({("a", 0)})], 3) == {0}
    assert len(spread([frozenset({("a", place)}) for place in range(9)], 1)) == 1
