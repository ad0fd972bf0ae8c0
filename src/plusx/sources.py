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
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType

import numpy as np
import torch

PACKAGE = __name__.rpartition(".")[0]
PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(...), torch.dtype, torch.device)


def sources(function):
    """Name -> hash of all that `function` leads to: what it and its helpers call and read, as far as it is ours.

    Names of the function's own page stand for themselves: functions and classes by their syntax tree, so that
    comments, docstrings, formatting and the order of cells do not count, and anything else by its value. A module
    of this package counts whole, with those of ours that it imports.

    TypeError: a name is bound to something that cannot be told by its value, such as a net or a generator.
    """
    page, found = function.__globals__, {}

    def follow(name, value):
        if name not in found:
            found[name] = ""  # while it is followed: what leads back here has been told
            found[name] = hashlib.sha256(repr(told(value, name)).encode()).hexdigest()[:8]
        return name

    def told(value, name):
        if isinstance(value, PLAIN):
            return repr(value)
        if isinstance(value, dict):
            return [(told(key, name), told(each, name)) for key, each in value.items()]
        if isinstance(value, list | tuple):
            return [told(each, name) for each in value]
        if isinstance(value, functools.partial):
            return told([value.func, value.args, value.keywords], name)
        if isinstance(value, set | frozenset):
            return sorted(told(each, name) for each in value)
        if isinstance(value, torch.Tensor | np.ndarray):
            return numbers(torch.as_tensor(value))
        if hasattr(value, "made_by"):  # evidence of its own
            return repr(value.made_by)
        if isinstance(value, ModuleType):
            return library(value.__name__)
        if isinstance(value, FunctionType):
            return of_function(value, name)
        if isinstance(value, type):
            return of_class(value, name)
        if isinstance(value, BuiltinFunctionType | MethodDescriptorType | np.ufunc):
            return value.__name__
        raise TypeError(
            f"sources: {function.__name__} leads to {name}, a {type(value).__name__}, which is not told by its "
            "source or value. Make it inside the function."
        )

    def library(module):
        """A module of this package by its source, with those of ours that it names; of others the name alone."""
        if module.partition(".")[0] == PACKAGE and module not in found:
            found[module] = ""
            tree = ast.parse(inspect.getsource(sys.modules[module]))
            found[module] = hashlib.sha256(repr(plain(tree)).encode()).hexdigest()[:8]
            for value in list(vars(sys.modules[module]).values()):
                other = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
                library(other or "")
        return module

    def of_function(value, name):
        inner = getattr(value, "__wrapped__", None)  # what a decorator left
        if value.__globals__ is not page:
            return told(inner, name) if inner else library(value.__module__), value.__qualname__
        names = [each for each in loaded(value.__code__) if each in page]
        cells = zip(value.__code__.co_freevars, value.__closure__ or ())
        kept = [told(cell.cell_contents, name) for free, cell in cells if free != "__class__"]
        defaults = told([value.__defaults__, value.__kwdefaults__, inner], name)
        return definition(value.__code__, value is function), defaults, kept, [follow(n, page[n]) for n in names]

    def of_class(value, name):
        if value.__module__ != page["__name__"]:
            return library(value.__module__), value.__qualname__
        methods = [each for each in vars(value).values() if isinstance(each, FunctionType)]
        if not methods:
            raise TypeError(f"sources: class {value.__name__} has no method, by which its source is found.")
        tree = definition(methods[0].__code__, False, value.__name__)
        bases = [told(base, name) for base in value.__bases__]
        return tree, bases, [of_function(each, name)[1:] for each in methods]

    follow(function.__name__, function)
    return dict(sorted(found.items()))


def loaded(code):
    """The global names that a code object reads, sorted, with those of functions inside it."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = (loaded(const) for const in code.co_consts if isinstance(const, CodeType))
    return sorted(names.union(*inner))


def definition(code, decorated, class_name=None):
    """The tree of what stands where a code object was compiled: a function, a lambda, or the class around it."""
    page = ast.parse("".join(linecache.getlines(code.co_filename)))
    if class_name:
        classes = [each for each in ast.walk(page) if isinstance(each, ast.ClassDef) and each.name == class_name]
        return plain(next(each for each in classes if each.lineno <= code.co_firstlineno <= each.end_lineno))
    kinds = (ast.FunctionDef, ast.Lambda)
    here = []
    for each in ast.walk(page):
        first = (
            min([each.lineno, *(d.lineno for d in getattr(each, "decorator_list", []))])
            if isinstance(each, kinds)
            else 0
        )
        if first == code.co_firstlineno:
            here.append(each)
    if decorated:  # by what asks: the grid is compared apart
        here[0].decorator_list = []
    return [plain(each) for each in here]


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
