"""Small changes of a module's text that its tests should notice: the mutants of the mutation check."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType
from typing import NamedTuple


class Mutant(NamedTuple):
    """A module in which one thing is otherwise; ``name`` says where and what, and no other mutant has it."""

    name: str
    line: int
    code: CodeType


# A bound that is met exactly, and signs: what a slip of the pen does.
_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip
_PAIRS = [("min", "max"), ("floor", "ceil"), ("minimum", "maximum"), ("any", "all"), ("rint", "trunc")]
_NAMES = dict(_PAIRS) | {second: first for first, second in _PAIRS}
_UNTOUCHED = (ast.Raise, ast.JoinedStr)  # the text of errors and labels is checked where it matters


def _others(constant: object) -> list[object]:
    """Values that a constant might have had instead."""
    if isinstance(constant, bool):
        return [not constant]
    if isinstance(constant, int):
        return [constant + 1, constant - 1]
    if isinstance(constant, float):
        return [constant * 2, constant / 2] if constant else [1.0]
    return ["?"] if isinstance(constant, str) else []


def _turned(test: ast.expr) -> bool:
    """Whether another mutant is the negation of this condition."""
    opposite = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot)
    return opposite or isinstance(test, ast.UnaryOp)


def _removable(node: ast.AST) -> bool:
    """Whether this is a step that could be forgotten without a name being left undefined."""
    stored = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    return stored or isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))


def _instead(node: ast.AST) -> Iterator[ast.AST]:
    """What can stand in the place of one expression or statement."""
    copy = lambda **changed: type(node)(**(dict(ast.iter_fields(node)) | changed))  # noqa: E731
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                ops = [*node.ops[:place], _COMPARISONS[type(operator)](), *node.ops[place + 1 :]]
                yield copy(ops=ops)
        case ast.BinOp() | ast.AugAssign():
            yield copy(op=_ARITHMETIC[type(node.op)]())
        case ast.BoolOp():
            yield copy(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant():
            yield from (copy(value=value, kind=None) for value in _others(node.value))
        case ast.Name() if node.id in _NAMES and isinstance(node.ctx, ast.Load):
            yield copy(id=_NAMES[node.id])
        case ast.Attribute() if node.attr in _NAMES:
            yield copy(attr=_NAMES[node.attr])
        case ast.Call(func=ast.Name(id="abs") | ast.Attribute(attr="abs"), args=[inner]):
            yield inner
        case ast.If() | ast.While() | ast.IfExp() if not _turned(node.test):
            yield copy(test=ast.UnaryOp(ast.Not(), node.test))
        case ast.With() if all(item.optional_vars is None for item in node.items):
            yield ast.If(ast.Constant(True), node.body, [])
        case ast.Return() if node.value is not None:
            yield ast.Return(ast.Constant(None))
        case _ if _removable(node):
            yield ast.If(ast.Constant(False), [node], [])  # not removed: closures keep their variables


def _places(node: ast.AST, scope: str, trail: list[ast.AST]) -> Iterator[tuple[ast.AST, str, list[ast.AST]]]:
    """Every node that may change, the function it stands in, and those around it."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "ctx") or isinstance(node, _UNTOUCHED):
            continue
        for child in value if isinstance(value, list) else [value]:
            slots = isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) in ("__slots__", "__all__")
            text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if not isinstance(child, ast.AST) or slots or text:
                continue
            inner = f"{scope}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else scope
            yield child, inner, [*trail, node]
            yield from _places(child, inner, [*trail, node])


def _put(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for field, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, field, new)
        elif isinstance(value, list) and any(item is old for item in value):
            value[[item is old for item in value].index(True)] = new


def _words(node: ast.AST) -> str:
    """One line of source: the whole of an expression, the head of a statement."""
    return ast.unparse(node).split("\n")[0]


def mutants(source: str, file: str, wanted: Callable[[str], bool] = lambda name: True) -> Iterator[Mutant]:
    """All mutants of a module, one change each, in the order of its lines."""
    tree = ast.parse(source)
    seen: Counter[str] = Counter()
    for node, scope, trail in list(_places(tree, "", [])):
        parent = trail[-1]
        # A constant or a name by itself says little: show what it stands in.
        small = isinstance(node, ast.Constant | ast.Name | ast.UnaryOp | ast.Attribute)
        around = next(outer for outer in reversed(trail) if not isinstance(outer, ast.UnaryOp)) if small else None
        around = None if isinstance(around, ast.arguments) else around
        for other in _instead(node):
            before = _words(around or node)
            ast.copy_location(other, node)
            _put(parent, node, other)
            ast.fix_missing_locations(tree)
            after = "nothing" if _removable(node) else _words(around or other)
            name = f"{scope[1:] or 'module'}: {before} -> {after}"
            seen[name] += 1
            name += f" (no. {seen[name]})" if seen[name] > 1 else ""
            # Of one number, the first is also the last.
            last = isinstance(parent, ast.Subscript) and isinstance(other, ast.Constant) and other.value == -1
            if before != after and not last and wanted(name):
                yield Mutant(name, getattr(node, "lineno", 0), compile(tree, file, "exec"))
            _put(parent, other, node)
