"""Public names as text: a line for each parameter, so that a change of one is a line of a diff.

Annotations are as the source has them, for Python's versions write their values differently.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from inspect import Parameter
from types import FunctionType, ModuleType
from typing import Any

import streamjoin
from streamjoin import errors, local, oracle

Lines = Iterator[str]
Written = Mapping[str, ast.expr | None]
"""Annotations by the name of what they are of."""
MODULES = {"streamjoin": streamjoin, "local": local, "oracle": oracle, "errors": errors}
_STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
_AFTER_A_STAR = (Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY)


def public_names() -> dict[str, str]:
    """The names of each public module, by golden file."""
    return {f"names/{name}.txt": _page(module) for name, module in MODULES.items()}


def _page(module: ModuleType) -> str:
    parts = ["\n".join(_lines(name, getattr(module, name), module)) for name in _names(module)]
    return "\n\n".join(parts) + "\n"


def _names(module: ModuleType) -> list[str]:
    """What a module gives out: as it says, or what it defines and what it imports `as` itself."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    found: list[str] = []
    for node in _source(module).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.append(name)
            case ast.ImportFrom(names=aliases):
                found += [alias.name for alias in aliases if alias.asname == alias.name]
    return sorted(name for name in found if not name.startswith("_"))


def _lines(name: str, value: object, module: ModuleType) -> Lines:
    if inspect.isclass(value):
        yield from _class(name, value)
    elif inspect.isfunction(value):
        yield from _function(name, value)
    elif inspect.ismodule(value):
        yield f"{name}: module"
    elif hasattr(module, "__all__"):
        yield f"{name}: {type(value).__name__}"  # a version is another one with each release
    else:
        yield f"{name} = {ast.unparse(_assigned(name, module))}"


def _assigned(name: str, module: ModuleType) -> ast.expr:
    """What a name is in the source of its module."""
    for node in _source(module).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return value
            case ast.AnnAssign(target=ast.Name(id=found), annotation=kind) if found == name:
                return kind
    raise AssertionError(name)


def _class(name: str, cls: type) -> Lines:
    """A class: its bases, how it is made, and what its objects have."""
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    own = [one for one in cls.__mro__ if one.__module__.partition(".")[0] == "streamjoin"]
    members = {key: value for one in reversed(own) for key, value in vars(one).items()}
    if "__init__" in members:
        yield from _indented(_constructor(cls, own, members["__init__"]))
    definitions = [_definition(one) for one in own]
    fields = {key for one in definitions for key in _written_in(one)}
    stored = {key for one in definitions for key in _attributes(one)}
    # The fields of a data class are what it is made of.
    listed = {*members, *stored} - fields if is_dataclass(cls) else {*members, *stored, *fields}
    for key in sorted(listed):
        if not key.startswith("_"):
            yield from _indented(_member(key, members.get(key)))


def _constructor(cls: type, own: list[type], init: Callable[..., Any]) -> Lines:
    if not is_dataclass(cls):
        return _function("__init__", init, is_bound=True)
    written = {k: v for one in reversed(own) for k, v in _written_in(_definition(one)).items()}
    return _signature("__init__", list(inspect.signature(cls).parameters.values()), written)


def _member(name: str, value: object) -> Lines:
    match value:
        case FunctionType():
            yield from _function(name, value, is_bound=True)
        case classmethod():
            yield from _function(f"classmethod {name}", value.__func__, is_bound=True)
        case staticmethod():
            yield from _function(f"staticmethod {name}", value.__func__)
        case property(fget=FunctionType() as get):
            yield f"property {name}{_returned(get)}"
        case _:
            yield f"attribute {name}"


def _function(name: str, function: Any, is_bound: bool = False) -> Lines:
    function = inspect.unwrap(function)
    node: Any = _definition(function)
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    parameters = list(inspect.signature(function).parameters.values())[is_bound:]
    written = {one.arg: one.annotation for one in every}
    return _signature(name, parameters, written, _returned(function))


def _signature(
    name: str, parameters: list[Parameter], written: Written, returned: str = ""
) -> Lines:
    if not parameters:
        yield f"{name}(){returned}"
        return
    yield f"{name}("
    kinds = [one.kind for one in parameters]
    for one, before in zip(parameters, [None, *kinds], strict=False):
        if before is Parameter.POSITIONAL_ONLY and one.kind is not before:
            yield "    /,"
        if one.kind is Parameter.KEYWORD_ONLY and before not in _AFTER_A_STAR:
            yield "    *,"
        kind = written.get(one.name)
        said = "" if kind is None else f": {_annotation(kind)}"
        default = "" if one.default is Parameter.empty else f" = {one.default!r}"
        yield f"    {_STARS.get(one.kind, '')}{one.name}{said}{default},"
    if kinds[-1] is Parameter.POSITIONAL_ONLY:
        yield "    /,"
    yield f"){returned}"


def _returned(function: FunctionType) -> str:
    node: Any = _definition(inspect.unwrap(function))
    return "" if node.returns is None else f" -> {_annotation(node.returns)}"


def _annotation(node: ast.expr) -> str:
    """As written; what is quoted because it is not known yet, without the quotes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ast.unparse(node)


def _source(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _definition(value: Any) -> ast.stmt:
    """The statement that defines a class or a function."""
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _written_in(definition: ast.stmt) -> dict[str, ast.expr]:
    """Annotated names in the body of a class."""
    found = {}
    for node in getattr(definition, "body", ()):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind):
                found[name] = kind
    return found


def _attributes(definition: ast.stmt) -> Iterator[str]:
    """Names that the methods of a class set on ``self``."""
    for node in ast.walk(definition):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def _indented(lines: Lines) -> Lines:
    return (f"    {line}" for line in lines)
