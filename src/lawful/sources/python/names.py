"""Qualified names of what a program calls, found without running any of the program's own code.

An object of the program may answer `getattr`, `isinstance` or `==` with code of its own. So this module compares types
by identity, and reads attributes from the dictionaries of the types that the interpreter itself made.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, NamedTuple, TypeGuard

from lawful.sources.python.per_object import PerObject

_type_mro = type.__dict__["__mro__"].__get__
_type_dict = type.__dict__["__dict__"].__get__
_type_module = type.__dict__["__module__"].__get__
_type_qualname = type.__dict__["__qualname__"].__get__
_type_subclasses = type.__dict__["__subclasses__"]
_type_flags = type.__dict__["__flags__"].__get__
module_namespace: Final[Callable[[ModuleType], dict[str, Any]]] = vars(ModuleType)["__dict__"].__get__
_function_dict = FunctionType.__dict__["__dict__"].__get__
_BUILTINS: Final[dict[str, Any]] = vars(builtins)
_CacheWrapper: Final = type(functools.lru_cache(lambda: None))

MISSING: Final = object()
UNKNOWN: Final = "?"

_OF_METHOD: Final = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)
_FUNCTIONS: Final = (FunctionType, _CacheWrapper, staticmethod, classmethod, *_OF_METHOD)
_IMMUTABLE_TYPE: Final = 1 << 8
_HEAP_TYPE: Final = 1 << 9

# Private modules, and the public modules that show what is in them, where that is not the same name without the
# underscore. A name moves only if the public module has the same object under it.
_PUBLIC_MODULES: Final[Mapping[str, str]] = {
    "posix": "os",
    "nt": "os",
    "posixpath": "os.path",
    "ntpath": "os.path",
    "genericpath": "os.path",
    "_thread": "threading",
    "_sre": "re",
    "_json": "json",
    "_collections_abc": "collections.abc",
    "_elementtree": "xml.etree.ElementTree",
    "_hashlib": "hashlib",
    "_weakrefset": "weakref",
    "_functools": "functools",
    "_sitebuiltins": "builtins",
    "pyexpat": "xml.parsers.expat",
}

# What a public module offers under another name, or by a subclass that adds nothing.
_RENAMED: Final[Mapping[tuple[str, str], str]] = {
    ("_thread", "lock"): "threading.Lock",
    ("_thread", "RLock"): "threading.RLock",
    ("_thread", "_local"): "threading.local",
    ("_thread", "allocate_lock"): "threading.Lock",
    ("_io", "_IOBase"): "io.IOBase",
    ("_io", "_RawIOBase"): "io.RawIOBase",
    ("_io", "_BufferedIOBase"): "io.BufferedIOBase",
    ("_io", "_TextIOBase"): "io.TextIOBase",
}


# -- static access -------------------------------------------------------------------------------


def is_class(value: object) -> TypeGuard[type]:
    return issubclass(type(value), type)


def mro(kind: type) -> tuple[type, ...]:
    found = _type_mro(kind)
    return found if type(found) is tuple else (kind,)  # None while the class is being made


def class_dict(kind: type) -> Mapping[str, Any]:
    return _type_dict(kind) or {}  # None before a type of C is ready


def is_python_class(kind: type) -> bool:
    """Was it made by a `class` statement, or could it have been? The static types of C have no Python functions."""
    return bool(_type_flags(kind) & _HEAP_TYPE)


def is_immutable(holder: type | ModuleType) -> bool:
    """Is it a class whose attributes cannot be set?"""
    return is_class(holder) and bool(_type_flags(holder) & _IMMUTABLE_TYPE)


def is_method_type(kind: type) -> bool:
    """Is it a type of the methods in the dictionaries of C classes?"""
    return any(kind is each for each in _OF_METHOD)


def is_builtin_type(kind: type) -> bool:
    """Is it a type of C functions, perhaps bound to an object? A subtype is for those that know their class."""
    return issubclass(kind, BuiltinFunctionType) or kind is MethodWrapperType


def is_function(entry: object) -> bool:
    """Is an entry of a class's dictionary a function, in one of its forms?"""
    kind = type(entry)
    return any(kind is each for each in _FUNCTIONS)


def inherits(kind: type, base: type) -> bool:
    for each in mro(kind):  # a metaclass may have an `__eq__` of its own
        if each is base:
            return True
    return False


def lookup(kind: type, name: str) -> tuple[type, Any] | None:
    """The class in the MRO that has the attribute in its own dictionary, and the entry there."""
    for each in mro(kind):
        entry = class_dict(each).get(name, MISSING)
        if entry is not MISSING:
            return each, entry
    return None


def init(kind: type) -> FunctionType | None:
    """The `__init__` of a class, if that is a Python function and always given an object of the class."""
    found, made_by = lookup(kind, "__init__"), lookup(kind, "__new__")
    if found is None or type(found[1]) is not FunctionType or (made_by is not None and made_by[0] is not object):
        return None
    return found[1]


def any_init(kind: type) -> FunctionType | None:
    """The `__init__` of a class, if that is a Python function, whatever makes the object that it is given.

    If a `__new__` gives something else away, `__init__` does not run. If it gives an object once more, it runs again.
    """
    found = lookup(kind, "__init__")
    # The `__init__` of a metaclass is given a class, which stands for itself.
    if found is None or type(found[1]) is not FunctionType or inherits(kind, type):
        return None
    return found[1]


def has_code(function: FunctionType | None, code: CodeType) -> bool:
    return function is not None and function.__code__ is code


def subclasses(kind: type) -> Iterator[type]:
    """All that inherit from a class, and the class itself."""
    seen: set[int] = set()
    pending = [kind]
    while pending:
        each = pending.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            pending += _type_subclasses(each)


def module_dict(name: str) -> Mapping[str, Any] | None:
    """The namespace of a module that is loaded already."""
    module = sys.modules.get(name)
    return module_namespace(module) if module is not None and issubclass(type(module), ModuleType) else None


def exact_str(value: Any) -> str | None:
    """A string as such: an instance of a subclass could compare in its own way."""
    if type(value) is str:
        return value
    return str.__str__(value) if issubclass(type(value), str) else None


def unwrapped(function: Any) -> Any:
    """The function behind a decorator that uses `functools.wraps`."""
    seen = 0
    while seen < 100:  # a chain of decorators may be a circle
        if type(function) is FunctionType:
            inner = dict.get(_function_dict(function), "__wrapped__", MISSING)
        elif type(function) is _CacheWrapper:
            inner = object.__getattribute__(function, "__dict__").get("__wrapped__", MISSING)
        else:
            break
        if inner is MISSING or (type(inner) is not FunctionType and type(inner) is not _CacheWrapper):
            break
        function = inner
        seen += 1
    return function


class Method(NamedTuple):
    """An entry of a class's dictionary that is a function, in one of its forms."""

    function: Any  # a Python function, if it is one in any of these forms, else the entry itself
    receiver: bool  # the first argument is the object or, of a class method, the class
    by_class: bool  # it is a class method


def methods(entry: Any) -> Iterator[Method]:
    """The functions behind an entry of a class's dictionary; a property has up to three."""
    kind = type(entry)
    if kind is FunctionType or kind is _CacheWrapper:
        yield Method(unwrapped(entry), True, False)
    elif kind is staticmethod or kind is classmethod:
        is_class_method = kind is classmethod
        yield Method(unwrapped(entry.__func__), is_class_method, is_class_method)
    elif issubclass(kind, property):
        for part in ("fget", "fset", "fdel"):
            function = property.__dict__[part].__get__(entry)
            if function is not None:
                yield Method(unwrapped(function), True, False)
    elif kind is functools.cached_property:
        yield Method(unwrapped(object.__getattribute__(entry, "func")), True, False)
    elif is_method_type(kind):
        yield Method(entry, True, kind is ClassMethodDescriptorType)


# -- names ---------------------------------------------------------------------------------------


def public_name(module: str, qualname: str, value: object) -> str:
    """The name under which programs import the value."""
    if module == "builtins" or _BUILTINS.get(qualname, MISSING) is value:
        return qualname
    renamed = _RENAMED.get((module, qualname))
    if renamed is not None:
        return renamed
    if module.startswith("_") or module in _PUBLIC_MODULES:
        shown_by = _PUBLIC_MODULES.get(module, module.lstrip("_"))
        if _walk(shown_by, qualname) is value:
            return f"{shown_by}.{qualname}"
    return f"{module}.{qualname}"


def _walk(module: str, qualname: str) -> object:
    namespace = module_dict(module)
    first, *rest = qualname.split(".")
    found: object = MISSING if namespace is None else namespace.get(first, MISSING)
    for part in rest:
        entry = lookup(found, part) if is_class(found) else None
        found = MISSING if entry is None else entry[1]
    return found


_class_names: PerObject[str] = PerObject()


def class_name(kind: type) -> str:
    """The qualified name of a class."""
    known = _class_names.get(kind)
    if known is not None:
        return known
    module = exact_str(_type_module(kind))
    qualname = exact_str(_type_qualname(kind)) or UNKNOWN
    name = public_name(main_module(module), qualname, kind) if module else qualname
    _class_names.put(kind, name)
    return name


def main_module(module: str) -> str:
    """`multiprocessing` runs the main module of a spawned child under another name."""
    return "__main__" if module == "__mp_main__" else module


def code_name(code: CodeType, module: str) -> str:
    """The qualified name of a Python function, by its code and the module of its globals."""
    module = main_module(module)
    qualname = code.co_qualname
    if module in _PUBLIC_MODULES or module == "builtins":
        first, _, rest = qualname.partition(".")
        namespace = module_dict(module)
        value = MISSING if namespace is None else namespace.get(first, MISSING)
        if value is not MISSING:
            name = public_name(module, first, value)
            return f"{name}.{rest}" if rest else name
    return f"{module}.{qualname}"


def module_of(function: FunctionType) -> str:
    """The module in whose globals a Python function runs."""
    return exact_str(dict.get(function.__globals__, "__name__")) or UNKNOWN


def owner_module(function: Any) -> str:
    """The module that a function, a method or a class belongs to, as the interpreter has it."""
    function = unwrapped(function)
    kind = type(function)
    if kind is FunctionType:
        return main_module(module_of(function))
    if is_method_type(kind):
        return class_module(function.__objclass__)
    if is_builtin_type(kind):
        module = exact_str(function.__module__) if kind is not MethodWrapperType else None
        if module is not None:
            return module
        found = descriptor_of(function)
        if found is not function:
            return owner_module(found)
        owner = function.__self__
        return class_module(owner if is_class(owner) else type(owner)) if owner is not None else "builtins"
    return class_module(function if is_class(function) else kind)


def class_module(kind: type) -> str:
    return main_module(exact_str(_type_module(kind)) or UNKNOWN)


def function_name(function: Any) -> str | None:
    """The qualified name of a callable; of a method, by the class that defines it. None if it has no name."""
    function = unwrapped(function)
    kind = type(function)
    if kind is FunctionType:
        return code_name(function.__code__, module_of(function))
    if is_method_type(kind):
        return f"{class_name(function.__objclass__)}.{function.__name__}"
    if is_builtin_type(kind):
        return _builtin_name(function)
    if kind is MethodType:
        return function_name(function.__func__)
    if is_class(function):
        return class_name(function)
    entry = lookup(kind, "__call__")
    return None if entry is None else f"{class_name(entry[0])}.__call__"


def _builtin_name(function: Any) -> str:
    owner = function.__self__
    name = function.__name__
    if owner is None:  # a static method of a C class: the class is known by its name alone
        return f"{function.__qualname__}"
    if issubclass(type(owner), ModuleType):
        return public_name(exact_str(function.__module__) or UNKNOWN, name, function)
    found = descriptor_of(function)
    if found is not function:
        return function_name(found) or UNKNOWN
    kind = owner if is_class(owner) else type(owner)
    return f"{class_name(kind)}.{name}"


def descriptor_of(function: Any) -> Any:
    """The descriptor in the class that a builtin bound to an object was made from; the builtin itself if not found."""
    owner = function.__self__
    name = function.__name__
    if owner is None or issubclass(type(owner), ModuleType):
        return function  # it is not bound to an object
    if is_class(owner):
        for each in mro(owner):
            entry = class_dict(each).get(name)
            if type(entry) is ClassMethodDescriptorType:
                return entry
    for each in mro(type(owner)):
        entry = class_dict(each).get(name)
        if type(entry) is MethodDescriptorType or type(entry) is WrapperDescriptorType:
            return entry
    return function


def python_codes(entry: object) -> tuple[CodeType, ...]:
    """The code of the Python functions behind an entry of a class's or a module's dictionary."""
    return tuple(method.function.__code__ for method in methods(entry) if type(method.function) is FunctionType)
