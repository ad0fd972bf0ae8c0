"""What the result of a function on a page depends on.

Here live the names that it leads to, followed through the page and this package. Libraries count by their
version, which is not told here.
"""

import ast
import dis
import functools
import hashlib
import inspect
import linecache
import os
import re
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType

import numpy as np
import torch

PACKAGE = __name__.partition(".")[0]
PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(...), torch.dtype, torch.device)


def sources(function):
    """Name -> hash of all that `function` leads to: what it and its helpers call and read, as far as it is ours.

    Ours are the function's own page and this package, whose names stand with their module's own name, so that a
    module may move to another folder. Functions and classes count by their syntax tree, so that comments, docstrings,
    formatting and order do not; anything else by its value.

    TypeError: a name is bound to something that cannot be told by its value, such as a net or a generator, or to a
    path of this machine as a string: a `Path` counts by its last name.
    """
    page, found = function.__globals__["__name__"], {}

    def ours(module):
        return module == page or module.partition(".")[0] == PACKAGE

    def follow(name, home):
        value = home[name]
        if isinstance(value, ModuleType):
            return told(value, name)
        module = getattr(value, "__module__", None)
        if isinstance(value, FunctionType | type) and "<locals>" not in value.__qualname__:
            if not ours(module):
                return told(value, name)
            if module != page:  # by the name that it has at home, wherever it is imported
                name, home = value.__qualname__, dict(__name__=module)
        label = name if home["__name__"] == page else f"{home['__name__'].rpartition('.')[2]}.{name}"
        if label not in found:
            found[label] = ""  # while it is followed: what leads back here has been told
            found[label] = hashlib.sha256(repr(told(value, label)).encode()).hexdigest()[:8]
        return label

    def told(value, name):
        if isinstance(value, str) and len(Path(value).parts) > 1 and os.path.isabs(value) and os.path.exists(value):
            raise TypeError(f"sources: {function.__name__} leads to {name}, a path of this machine. Make it a `Path`.")
        if isinstance(value, PLAIN):
            return repr(value)
        if isinstance(value, Path):
            return value.name
        if isinstance(value, re.Pattern):
            return value.pattern
        if isinstance(value, dict):
            return [(told(key, name), told(each, name)) for key, each in value.items()]
        if isinstance(value, list | tuple):
            return [told(each, name) for each in value]
        if isinstance(value, functools.partial):
            return told([value.func, value.args, value.keywords], name)
        if isinstance(value, set | frozenset):
            return sorted((told(each, name) for each in value), key=repr)
        if isinstance(value, torch.Tensor | np.ndarray):
            return numbers(torch.as_tensor(value))
        if hasattr(value, "made_by"):  # evidence of its own
            return repr(value.made_by)
        if isinstance(value, ModuleType) and not ours(value.__name__):
            return value.__name__
        if isinstance(value, FunctionType):
            return of_function(value, name)
        if isinstance(value, type):
            return of_class(value, name)
        if isinstance(
            value,
            BuiltinFunctionType | MethodDescriptorType | np.ufunc | torch._ops.OpOverload | torch._ops.OpOverloadPacket,
        ):
            return value.__name__
        if hasattr(value, "__wrapped__"):  # by functools.cache
            return told(value.__wrapped__, name)
        raise TypeError(
            f"sources: {function.__name__} leads to {name}, a {type(value).__name__}, which is not told by its "
            "source or value. Make it inside the function, or import what is used of a module."
        )

    def of_function(value, name):
        if ours(value.__globals__["__name__"]):
            return definition(value.__code__, value is function), of_names(value, name)
        inner = getattr(value, "__wrapped__", None)  # what a library's decorator left
        return told(inner, name) if inner else (value.__module__, value.__qualname__)

    def of_names(value, name):
        home = value.__globals__
        cells = zip(value.__code__.co_freevars, value.__closure__ or ())
        kept = [told(cell.cell_contents, name) for free, cell in cells if free != "__class__"]
        defaults = [value.__defaults__, value.__kwdefaults__, getattr(value, "__wrapped__", None)]
        names = [each for each in loaded(value.__code__) if each in home and not each.startswith("__")]
        return told(defaults, name), kept, [follow(each, home) for each in names]

    def of_class(value, name):
        if not ours(value.__module__):
            return value.__module__, value.__qualname__
        parts = [getattr(each, "fget", None) or getattr(each, "__func__", each) for each in vars(value).values()]
        methods = [inspect.unwrap(each) for each in parts if isinstance(each, FunctionType)]
        methods = [each for each in methods if each.__globals__["__name__"] == value.__module__]
        if value.__module__ == page and not methods:
            raise TypeError(f"sources: class {value.__name__} has no method, by which its source is found.")
        file = methods[0].__code__.co_filename if value.__module__ == page else inspect.getsourcefile(value)
        written = [each for each in methods if each.__code__.co_filename == file]  # a dataclass has others
        bases = [told(base, name) for base in value.__bases__]
        return class_in(file, value.__name__), bases, [of_names(each, name) for each in written]

    follow(function.__name__, {**function.__globals__, function.__name__: function})
    return dict(sorted(found.items()))


def loaded(code):
    """The global names that a code object reads, sorted, with those of functions inside it."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (loaded(const) for const in code.co_consts if isinstance(const, CodeType))
    return sorted(names.union(*inner))


def class_in(file, name):
    """The tree of the class of this name."""
    return plain(next(each for each in tree_of(file) if isinstance(each, ast.ClassDef) and each.name == name))


def definition(code, decorated):
    """The trees of the functions and lambdas that start in the line where a code object does."""
    kinds = (ast.FunctionDef, ast.Lambda)
    here = []
    for each in tree_of(code.co_filename):
        first = (
            min([each.lineno, *(d.lineno for d in getattr(each, "decorator_list", []))])
            if isinstance(each, kinds)
            else 0
        )
        if first == code.co_firstlineno:
            here.append(each)
    trees = [plain(each) for each in here]
    if decorated:  # by what asks: the grid is compared apart
        trees[0] = [part for part in trees[0] if part[0] != "decorator_list"]
    return trees


def tree_of(file):
    """All nodes of a file, or of a cell as IPython files it."""
    return nodes("".join(linecache.getlines(file)))


@functools.cache
def nodes(source):
    return list(ast.walk(ast.parse(source)))


def plain(node):
    """A syntax tree as nested lists, without docstrings, places in the file, and what is empty."""
    if isinstance(node, list):
        return [plain(each) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: each for name, each in ast.iter_fields(node) if each is not None and each != []}
    if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields["body"] = node.body[1:]
    return [type(node).__name__, *((name, plain(each)) for name, each in fields.items())]


def numbers(tensor):
    """A tensor told by its shape, and a sum that weighs each place differently, to nine digits."""
    weights = torch.arange(tensor.numel(), dtype=torch.float64).cos()
    return str(tensor.dtype), list(tensor.shape), f"{(tensor.detach().double().flatten() @ weights).item():.9g}"
