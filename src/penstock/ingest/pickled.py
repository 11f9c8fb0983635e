"""Reads pickles without running them.

A pickle is a program for a small machine with a stack. Python's own machine calls whatever the program names: whoever
wrote the file decides what happens. This one knows the same instructions, but of all names in the world it knows the
few that bytes, arrays of numbers, ordered dicts and GulpIO's rows are made with, and these it does not call either: it
notes what they would come to.

Every protocol from 0 to 5 is read. Bytes are given as the part of the pickle where they lie. Protocols below 3 have no
bytes of Python 3: these are text there, or a call of `_codecs.encode`, and then a Blob says that its bytes had to be
made. Text of Python 2 is bytes.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any, final

from penstock.errors import SourceError
from penstock.ingest.unwrapped import Array, Blob, broken

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_pickle"]

_NEWEST = 5  # protocol
_LINE_BYTES = 1 << 12  # the longest number or name written as text

_ESCAPED = re.compile(rb"\\(x[0-9a-fA-F]{2}|.?)", re.DOTALL)
_ESCAPES = {b"\\": b"\\", b"'": b"'", b'"': b'"', b"n": b"\n", b"r": b"\r", b"t": b"\t"}

# Names that a pickle may use, and what they are to the machine here.
_MODULES = ("numpy.core", "numpy._core")
_KNOWN = {
    "_codecs encode": "encode",
    **dict.fromkeys(("builtins bytes", "__builtin__ bytes", "builtins bytearray", "__builtin__ bytearray"), "bytes"),
    **dict.fromkeys((f"{module}.multiarray _reconstruct" for module in _MODULES), "reconstruct"),
    **dict.fromkeys((f"{module}.multiarray scalar" for module in _MODULES), "scalar"),
    **dict.fromkeys((f"{module}.numeric _frombuffer" for module in _MODULES), "frombuffer"),
    "collections OrderedDict": "dict",
    **dict.fromkeys(("gulpio.fileio ImgInfo", "gulpio2.fileio ImgInfo"), "tuple"),  # a named one
    "numpy ndarray": "ndarray",
    "numpy dtype": "dtype",
}


@final
class _Name:
    """One of the names above."""

    def __init__(self, what: str) -> None:
        self.what = what


@final
class _Dtype:
    """A dtype, whose byte order comes after it."""

    def __init__(self, text: str) -> None:
        self.text = text


@final
class _Unfinished:
    """An array whose content comes after it."""

    def __init__(self) -> None:
        self.array: Array | None = None


def read_pickle(data: bytes | memoryview) -> Any:
    """Give what a pickle comes to. SourceError where it asks for more than data, or is broken."""
    machine = _Machine(data)
    try:
        found = machine.run()
        return _finished(found, {})
    except SourceError:
        raise
    except (
        IndexError,
        KeyError,
        ValueError,
        TypeError,
        struct.error,
        RecursionError,
        OverflowError,
        SyntaxError,
    ) as error:
        what = "the pickle is broken"
        raise broken(what, offset=machine.at, got=f"{type(error).__name__}: {error!s:.80}") from None


def _finished(value: Any, seen: dict[int, Any]) -> Any:
    """Replace what was unfinished by what it became. Values that hold themselves are refused."""
    if isinstance(value, (list, tuple, dict)):
        if id(value) in seen:
            if seen[id(value)] is None:
                raise broken("a value of the pickle holds itself")
            return seen[id(value)]
        seen[id(value)] = None
        made: Any
        if isinstance(value, dict):
            made = {key: _finished(one, seen) for key, one in value.items()}
        else:
            made = type(value)(_finished(one, seen) for one in value)
        seen[id(value)] = made
        return made
    if isinstance(value, _Unfinished):
        if value.array is None:
            raise broken("an array of the pickle has no content")
        return value.array
    if isinstance(value, (_Name, _Dtype)):
        raise broken("the pickle holds a name or a dtype where data must be")
    return value


@final
class _Machine:
    """The stack machine."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data)
        self.at = 0
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each mark
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """Carry out instructions up to the last one."""
        while True:
            code = self.take(1)[0]
            if code == ord("."):
                if len(self.stack) != 1 or self.below or self.at != len(self.data):
                    raise broken("the pickle ends with something left over", offset=self.at)
                return self.stack.pop()
            act = _ACTS.get(code)
            if act is None:
                what = "the pickle asks for more than data, which is refused"
                raise broken(what, offset=self.at - 1, got=f"instruction {bytes([code])!r}")
            act(self)

    def take(self, count: int) -> memoryview:
        """Give the next bytes."""
        if count > len(self.data) - self.at:
            raise broken("the pickle is cut short", offset=self.at, got=f"{len(self.data)} bytes")
        found = self.data[self.at : self.at + count]
        self.at += count
        return found

    def push(self, value: Any) -> None:
        """Put a value on the stack, as it is once the value is there: making it may change the stack."""
        self.stack.append(value)

    def number(self, form: str) -> Any:
        """Give the next number."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self, most: int = _LINE_BYTES) -> bytes:
        """Give the rest of a line."""
        rest = bytes(self.data[self.at : self.at + most])
        end = rest.find(b"\n")
        if end < 0:
            raise broken("a line of the pickle does not end", offset=self.at)
        self.at += end + 1
        return rest[:end]

    def blob(self, form: str) -> None:
        """Push bytes that a length precedes."""
        length = self.number(form)
        if length < 0:
            raise broken("the pickle has a negative length", offset=self.at)
        start = self.at
        self.stack.append(Blob(self.take(length), start))

    def text(self, form: str) -> None:
        """Push text that a length precedes."""
        self.stack.append(str(self.take(self.number(form)), "utf-8", "surrogatepass"))

    def marked(self) -> list[Any]:
        """Pop everything above the last mark."""
        found, self.stack = self.stack, self.below.pop()
        return found

    def mark(self) -> None:
        """Set a mark."""
        self.below.append(self.stack)
        self.stack = []

    def name(self, module: str, name: str) -> None:
        """Push a known name; refuse any other."""
        what = _KNOWN.get(f"{module} {name}")
        if what is None:
            hint = (
                "it is never run; make the dataset again as bytes and numbers, or unpickle it yourself if you trust it"
            )
            error = broken("the pickle asks for code, which is refused", offset=self.at, got=f"{module}.{name}"[:120])
            error.hint = hint
            raise error
        self.stack.append(_Name(what))

    def stack_name(self) -> None:
        """Push a name whose parts are on the stack."""
        name, module = self.stack.pop(), self.stack.pop()
        self.name(_text(module), _text(name))

    def call(self) -> None:
        """Note what a call would come to."""
        arguments, name = self.stack.pop(), self.stack.pop()
        if not isinstance(name, _Name) or not isinstance(arguments, tuple):
            raise broken("the pickle calls what is no name", offset=self.at)
        self.stack.append(_CALLS[name.what](*arguments))

    def build(self) -> None:
        """Give a dtype its byte order, an array its content."""
        state, value = self.stack.pop(), self.stack[-1]
        if isinstance(value, _Dtype):
            _, order, subtype, names, *_ = state
            if subtype is not None or names is not None:
                raise broken("an array of another kind than numbers", offset=self.at)
            value.text = _text(order) + value.text.lstrip("<>|=")
        elif isinstance(value, _Unfinished) and value.array is None:
            _, shape, dtype, is_columnwise, content = state
            value.array = _array(dtype, shape, content, "F" if is_columnwise else "C")
        else:
            raise broken("the pickle sets the state of what has none", offset=self.at)

    def extend(self, values: list[Any]) -> None:
        """Add values to the list on the stack."""
        self._top(list).extend(values)

    def set_items(self, values: list[Any]) -> None:
        """Add keys and values to the dict on the stack."""
        found = self._top(dict)
        for key, value in zip(values[::2], values[1::2], strict=True):
            found[_key(key)] = value

    def new_dict(self) -> None:
        """Make a dict of what is above the mark."""
        values = self.marked()
        self.stack.append({})
        self.set_items(values)

    def _top(self, kind: type) -> Any:
        if type(self.stack[-1]) is not kind:
            raise broken(f"the pickle adds to what is no {kind.__name__}", offset=self.at)
        return self.stack[-1]

    def pair(self) -> list[Any]:
        """Pop a key and a value."""
        value, key = self.stack.pop(), self.stack.pop()
        return [key, value]

    def top(self, count: int) -> None:
        """Make the last values a tuple."""
        found = tuple(self.stack[len(self.stack) - count :])
        if len(found) < count:
            raise IndexError(count)
        self.stack[len(self.stack) - count :] = [found]

    def put(self, number: int) -> None:
        """Remember the last value."""
        self.memo[number] = self.stack[-1]

    def long(self, form: str) -> None:
        """Push an integer of any size."""
        self.stack.append(int.from_bytes(self.take(self.number(form)), "little", signed=True))

    def integer_line(self) -> None:
        """Push an integer written as text; 00 and 01 are booleans."""
        found = self.line()
        self.stack.append(found == b"01" if found in {b"00", b"01"} else int(found))

    def protocol(self) -> None:
        """Note the protocol."""
        found = self.take(1)[0]
        if found > _NEWEST:
            raise broken("the pickle is of an unknown protocol", offset=1, got=found, expected=f"at most {_NEWEST}")


def _key(value: Any) -> Any:
    """Make bytes that name something text, as Python 2 meant them."""
    if isinstance(value, Blob):
        return bytes(value).decode("utf-8", "surrogateescape")
    if value is not None and not isinstance(value, (str, int, float)):
        raise broken("a key of the pickle is neither text nor a number")
    return value


def _text(value: Any) -> str:
    found = bytes(value).decode("latin-1") if isinstance(value, Blob) else value
    if not isinstance(found, str):
        raise broken("the pickle has something else where text must be")
    return found


def _array(dtype: Any, shape: Any, content: Any, order: Any) -> Array:
    if not isinstance(dtype, _Dtype) or not isinstance(shape, tuple):
        raise broken("an array of another kind than numbers")
    if isinstance(content, str):  # protocols below 3
        content = Blob(content.encode("latin-1"), None)
    if not isinstance(content, Blob):
        raise broken("an array's content is not its bytes", got=type(content).__name__)
    if _text(order) != "C" and len(shape) > 1:
        raise broken("an array is stored column by column")
    return Array(dtype.text, shape, content)


def _encode(text: str, encoding: Any = "latin1") -> Blob:
    if not isinstance(text, str) or _text(encoding) not in {"latin1", "latin-1"}:
        raise broken("the pickle encodes text in another way than bytes are")
    return Blob(text.encode("latin-1"), None)


def _bytes(content: Any = None, encoding: Any = None) -> Blob:
    if content is None:
        return Blob(b"", None)
    if isinstance(content, Blob):
        return content
    return _encode(content, "latin-1" if encoding is None else encoding)


def _dtype(text: Any, *_: Any) -> _Dtype:
    return _Dtype(_text(text))


def _reconstruct(*_: Any) -> _Unfinished:
    return _Unfinished()


def _scalar(dtype: Any, content: Any) -> Array:
    return _array(dtype, (), content, "C")


def _frombuffer(content: Any, dtype: Any, shape: Any, order: Any, *_: Any) -> Array:
    return _array(dtype, shape, content, order)


def _dict(pairs: Any = ()) -> dict[Any, Any]:
    return {_key(key): value for key, value in pairs}


def _tuple(*values: Any) -> tuple[Any, ...]:
    return values


def _refused(*_: Any) -> Any:
    raise broken("the pickle makes an array in an unknown way")


_CALLS: dict[str, Callable[..., Any]] = {
    "encode": _encode,
    "bytes": _bytes,
    "reconstruct": _reconstruct,
    "scalar": _scalar,
    "frombuffer": _frombuffer,
    "ndarray": _refused,
    "dtype": _dtype,
    "dict": _dict,
    "tuple": _tuple,
}


def _pushes(value: Any) -> Callable[[_Machine], None]:
    return lambda machine: machine.push(value)


_ACTS: dict[int, Callable[[_Machine], Any]] = {
    code[0]: act
    for code, act in {
        b"\x80": _Machine.protocol,
        b"\x95": lambda machine: machine.take(8),  # a frame's length: frames only help whoever reads from a file
        b"(": _Machine.mark,
        b"0": lambda machine: machine.stack.pop() if machine.stack else machine.marked(),
        b"1": _Machine.marked,
        b"2": lambda machine: machine.push(machine.stack[-1]),
        b"N": _pushes(None),
        b"\x88": _pushes(value=True),
        b"\x89": _pushes(value=False),
        b"I": _Machine.integer_line,
        b"J": lambda machine: machine.push(machine.number("<i")),
        b"K": lambda machine: machine.push(machine.number("<B")),
        b"M": lambda machine: machine.push(machine.number("<H")),
        b"L": lambda machine: machine.push(int(machine.line().rstrip(b"L"))),
        b"\x8a": lambda machine: machine.long("<B"),
        b"\x8b": lambda machine: machine.long("<I"),
        b"F": lambda machine: machine.push(float(machine.line())),
        b"G": lambda machine: machine.push(machine.number(">d")),
        b"S": lambda machine: machine.push(_quoted(machine.line(len(machine.data)))),
        b"T": lambda machine: machine.blob("<i"),
        b"U": lambda machine: machine.blob("<B"),
        b"B": lambda machine: machine.blob("<I"),
        b"C": lambda machine: machine.blob("<B"),
        b"\x8e": lambda machine: machine.blob("<Q"),
        b"\x96": lambda machine: machine.blob("<Q"),
        b"\x98": lambda _: None,  # a buffer becomes read-only: blobs are
        b"V": lambda machine: machine.push(str(machine.line(len(machine.data)), "raw-unicode-escape")),
        b"X": lambda machine: machine.text("<I"),
        b"\x8c": lambda machine: machine.text("<B"),
        b"\x8d": lambda machine: machine.text("<Q"),
        b"]": lambda machine: machine.push([]),
        b"a": lambda machine: machine.extend([machine.stack.pop()]),
        b"e": lambda machine: machine.extend(machine.marked()),
        b"l": lambda machine: machine.push(machine.marked()),
        b")": _pushes(()),
        b"t": lambda machine: machine.push(tuple(machine.marked())),
        b"\x85": lambda machine: machine.top(1),
        b"\x86": lambda machine: machine.top(2),
        b"\x87": lambda machine: machine.top(3),
        b"}": lambda machine: machine.push({}),
        b"d": _Machine.new_dict,
        b"s": lambda machine: machine.set_items(machine.pair()),
        b"u": lambda machine: machine.set_items(machine.marked()),
        b"g": lambda machine: machine.push(machine.memo[int(machine.line())]),
        b"h": lambda machine: machine.push(machine.memo[machine.number("<B")]),
        b"j": lambda machine: machine.push(machine.memo[machine.number("<I")]),
        b"p": lambda machine: machine.put(int(machine.line())),
        b"q": lambda machine: machine.put(machine.number("<B")),
        b"r": lambda machine: machine.put(machine.number("<I")),
        b"\x94": lambda machine: machine.put(len(machine.memo)),
        b"c": lambda machine: machine.name(machine.line().decode(), machine.line().decode()),
        b"\x93": _Machine.stack_name,
        b"R": _Machine.call,
        b"\x81": _Machine.call,  # of a class
        b"b": _Machine.build,
    }.items()
}


def _quoted(line: bytes) -> Blob:
    """Read text of Python 2 as protocol 0 writes it: a literal in quotes."""
    if len(line) < 2 or line[:1] not in {b"'", b'"'} or line[-1:] != line[:1]:
        raise broken("a text of the pickle is not in quotes")
    return Blob(_ESCAPED.sub(_unescaped, line[1:-1]), None)


def _unescaped(match: re.Match[bytes]) -> bytes:
    found = match[1]
    if len(found) == 3:
        return bytes([int(found[1:], 16)])
    if found not in _ESCAPES:
        raise broken("a text of the pickle has an unknown escape")
    return _ESCAPES[found]
