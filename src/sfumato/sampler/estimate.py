"""``sf.sample_sensitivity``: estimate how far one record moves a response, from pairs of made-up neighbours."""

from __future__ import annotations

import math
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis
from sfumato.checks import as_written, one_of, positive_integer, share_of, shown
from sfumato.core.box import Box
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.oracles import Generator, Oracle, fresh_seed, stream
from sfumato.sampler.pairs import NORMS, Pair, Respond, counted, distance, draw_pair, rows
from sfumato.sampler.plans import SamplerPlan, sampler_plan
from sfumato.sampler.progress import watching
from sfumato.targets.base import Additive, Rehearsable, Target
from sfumato.targets.sampled import SampledCertificate

Floats = NDArray[np.float64]

_BLOCK = 4096  # pairs that are compared at once where a target needs the replaced records alone
_TASKS = 8  # pieces of work for each process: few enough to cost little, many enough to end together
_LONGEST = 64  # pairs in a piece, where they are sent to other processes


def sample_sensitivity(
    target: Any,
    oracle: Callable[[int], Any],
    n: int,
    gamma: float | None = None,
    m: int | None = None,
    norm: str | Callable[..., float] | None = None,
    rule: str = "dkw",
    *,
    rho: float | None = None,
    stands_for: str | None = None,
    box: Box | None = None,
    basis: LatticeBasis | None = None,
    seed: int | None = None,
    processes: int = 1,
    progress: bool = True,
) -> SampledCertificate:
    """Estimate a sensitivity from ``m`` random pairs of neighbouring tables: **random** differential privacy.

    Parameters
    ----------
    target
        A function of records that returns a number, an array, a function (give ``box`` and ``basis``) or any object
        (give a ``norm``); or a target such as ``sf.KDE(0.1)``.
    oracle
        ``oracle(n)`` returns n made-up records (``sf.oracles`` has some ready). It must not know the private ones.
    n
        The number of records in each table: that of the private data, which is public.
    gamma, m, rho, rule
        As for ``sf.sampler_plan``.
    norm, stands_for
        ``"l1"`` (default), ``"l2"``, ``"linf"`` (default on a lattice), or a function of yours of the difference or of
        both responses; which of the three that is an upper bound of, without which no noise of this library fits.
    box, basis
        Where functions are compared: on the lattice of a basis.
    seed
        For the oracles of ``sf.oracles``; drawn if you give none, public, and part of the result.
    processes, progress
        How many work at once (an oracle of your own is called in this process only); a bar if it takes a while.

    Formal guarantee: that of ``sf.SampledCertificate``: it holds for pairs that the oracle draws, with probability
    ``1 - gamma``, and **is not differential privacy** (docs/proofs/sampler.md).

    >>> from sfumato import oracles
    >>> sample_sensitivity(np.mean, oracles.gaussian(), n=5, gamma=0.1, seed=1).m
    285
    """
    plan = sampler_plan(gamma=gamma, m=m, rho=rho, rule=rule)
    _check(target, oracle, box, basis)
    norm = norm if norm is not None else "l1" if box is None else "linf"
    name, entropy = _check_norm(norm, stands_for), _entropy(seed, isinstance(oracle, Oracle))
    work = Work(Respond(target, box, basis), distance(norm), oracle, positive_integer("n", n), entropy)
    return _certify(work, plan, name, positive_integer("processes", processes), progress)


def _certify(work: Work, plan: SamplerPlan, norm: str, processes: int, progress: bool) -> SampledCertificate:
    """Sample, and say what was found and how."""
    target, box, basis = work.respond.target, work.respond.box, work.respond.basis
    own = target.influence(box, basis, work.n) if isinstance(target, Additive) else None
    with watching("sampling pairs", plan.m, progress) as tick:
        if own is None:
            found, size = _compare(work, plan.m, processes, tick)
        else:
            found, size = _compare_records(work, own, plan.m, tick)
    bound = _bound(found, plan)
    return SampledCertificate(
        norm, bound, "replace", "sampled", "sampler", None, (_words(plan, norm, bound, work.oracle, work.n),),
        share_of(1.0, 1 - as_written(plan.gamma)), **vars(plan), n=work.n, size=size, oracle=_oracle_words(work.oracle),
        seed=work.entropy, spent=getattr(work.oracle, "spent", None), lattice=None if box is None else (box, basis),
    )  # fmt: skip


def _check(target: Any, oracle: Any, box: Any, basis: Any) -> None:
    if isinstance(target, Target) and not isinstance(target, Rehearsable):
        raise ParameterTypeError(
            f"{type(target).__name__} has a proved certificate, and nothing to rehearse or to sample"
        )
    if not isinstance(target, Target) and not callable(target):
        raise ParameterTypeError(f"target must be a function of records or a target, got target={shown(target)}")
    if not callable(oracle):
        raise ParameterTypeError(f"oracle must be callable, oracle(n) -> n records, got oracle={shown(oracle)}")
    if (box is None) != (basis is None):
        raise ParameterError("box and basis come together: functions are compared on the basis's lattice over the box")
    if box is not None and not (isinstance(box, Box) and isinstance(basis, LatticeBasis)):
        raise ParameterTypeError(
            f"box must be an sf.Box and basis an sf.Bernstein, got {shown(box)} and {shown(basis)}"
        )


def _check_norm(norm: Any, stands_for: str | None) -> str:
    """The name under which the certificate's bound is used."""
    if isinstance(norm, str):
        if stands_for is not None:
            raise ParameterError(f"stands_for is for a norm of your own, got norm={norm!r}")
        return one_of("norm", norm, tuple(NORMS))
    if not callable(norm):
        raise ParameterTypeError(f"norm must be one of {tuple(NORMS)} or a function, got norm={shown(norm)}")
    return "user" if stands_for is None else one_of("stands_for", stands_for, tuple(NORMS))


def _entropy(seed: int | None, seeded: bool) -> int | None:
    if not seeded:
        if seed is not None:
            raise ParameterError("seed is for the oracles of sf.oracles; seed your own oracle yourself")
        return None
    if seed is None:
        return fresh_seed()
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterTypeError(f"seed must be a whole number, 0 or more, got seed={shown(seed)}")
    return seed


@dataclass(frozen=True)
class Work:
    """Everything a process needs to compare pairs."""

    respond: Respond
    distance: Callable[[Any, Any], float]
    oracle: Any
    n: int
    entropy: int | None

    def generator(self, number: int) -> Generator:
        """A stream of its own for each pair (or block): the same whoever draws it, and in which order."""
        return stream(self.entropy, number)

    def pair(self, number: int) -> Pair:
        """The pair of this number."""
        return draw_pair(self.oracle, self.n, self.generator(number))

    def compare(self, pair: Pair) -> tuple[float, int | None]:
        """How far apart the responses to a pair are, and how many numbers a response has."""
        first, second = self.respond(pair[0]), self.respond(pair[1])
        apart = self.distance(first, second)
        return apart, _size(first)

    def piece(self, pairs: range | list[Pair]) -> tuple[list[float], set[int | None]]:
        """The distances of some pairs, given or by their numbers, and the sizes of the responses."""
        answers = [self.compare(self.pair(pair) if isinstance(pair, int) else pair) for pair in pairs]
        return [apart for apart, _ in answers], {size for _, size in answers}


def _size(response: Any) -> int | None:
    try:
        return int(np.asarray(response, dtype=np.float64).size)
    except (TypeError, ValueError):
        return None


_work: Work  # that of this process


def _start(work: Work) -> None:
    global _work
    _work = work


def _piece(pairs: range | list[Pair]) -> tuple[list[float], set[int | None]]:
    return _work.piece(pairs)


def _compare(work: Work, m: int, processes: int, tick: Callable[[int], None]) -> tuple[Floats, int | None]:
    """All distances, each from its own pair of whole tables."""
    found: list[float] = []
    sizes: set[int | None] = set()
    length = min(_LONGEST, max(1, math.ceil(m / (processes * _TASKS)))) if processes > 1 else 1
    for distances, several in _answers(work, _pieces(work, m, length), processes):
        found += distances
        sizes |= several
        tick(len(distances))
    if len(sizes) > 1:
        raise ParameterError(f"the target's responses differ in size: {sorted(map(str, sizes))}")
    return np.array(found), sizes.pop()


def _pieces(work: Work, m: int, length: int) -> Iterator[range | list[Pair]]:
    """Numbers of pairs where any process can draw them; else the pairs themselves, drawn here.

    Copies of an oracle in other processes could all draw the same records, and fewer pairs would be compared.
    """
    for start in range(0, m, length):
        numbers = range(start, min(m, start + length))
        yield numbers if isinstance(work.oracle, Oracle) else [work.pair(i) for i in numbers]


def _answers(work: Work, pieces: Iterator[Any], processes: int) -> Iterator[tuple[list[float], set[int | None]]]:
    if processes == 1:  # nothing global: other threads, and targets that sample themselves, have work of their own
        yield from map(work.piece, pieces)
        return
    # A forked process has the target already, whatever it is; a fresh one must be sent it.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(processes, context, initializer=_start, initargs=(work,)) as pool:
        waiting: deque[Future[Any]] = deque()  # few at a time: pairs that were drawn here wait in memory
        for piece in pieces:
            waiting.append(pool.submit(_piece, piece))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _compare_records(
    work: Work, own: Callable[[Any], Floats], m: int, tick: Callable[[int], None]
) -> tuple[Floats, int]:
    """All distances of a target that is a sum over records: only the replaced ones are looked at."""
    found, size = [], 0
    for block, start in enumerate(range(0, m, _BLOCK)):
        count = min(_BLOCK, m - start)
        if isinstance(work.oracle, Oracle):
            drawn = counted(work.oracle.draw(2 * count, work.generator(block)), 2 * count)
            moved = own(rows(drawn, 0, count)) - own(rows(drawn, count, 2 * count))
        else:
            pairs = [work.pair(start + i) for i in range(count)]
            last = [[own(rows(table, work.n - 1, work.n)) for table in pair] for pair in pairs]
            moved = np.concatenate([first - second for first, second in last])
        size = moved.shape[1]
        found += [work.distance(row, np.zeros(size)) for row in moved]
        tick(count)
    return np.array(found), size


def _bound(found: Floats, plan: SamplerPlan) -> float:
    wrong = ~np.isfinite(found) | (found < 0)
    if wrong.any():
        raise ParameterError(
            f"{int(wrong.sum())} of {plan.m} pairs are not a finite distance apart: no bound follows; "
            "bound the target's values, or mend its norm"
        )
    bound = float(np.partition(found, plan.k - 1)[plan.k - 1])
    if bound == 0:
        raise ParameterError(
            f"{plan.k} of {plan.m} pairs gave the same response: no noise would be added; the oracle does not show "
            "what a record can change"
        )
    return bound


def _oracle_words(oracle: Any) -> str:
    return oracle.name if isinstance(oracle, Oracle) else f"the caller's own ({getattr(oracle, '__name__', 'unnamed')})"


def _words(plan: SamplerPlan, norm: str, bound: float, oracle: Any, n: int) -> str:
    """What a release on it must say, everywhere."""
    rho = "" if plan.rho is None else f", rho {plan.rho:.4g}"
    return (
        f"random differential privacy only, gamma {plan.gamma!r}: the {norm} sensitivity {bound:g} was sampled (rule "
        f"{plan.rule}, distance {plan.k} of {plan.m} pairs{rho}) from the oracle: {_oracle_words(oracle)}; it speaks "
        f"of one random pair of tables of {n} records, and of no pair that the oracle would not draw"
    )
