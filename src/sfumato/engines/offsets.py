"""Parquet files whose nested columns are read with 64-bit offsets.

Of the texts and lists inside of other columns Arrow makes one array or none: where their offsets have 32 bits, it
raises once a column holds two gigabytes of text, and any record may be the one that brings it there. How wide they are
says the schema that Arrow's writers leave in a file's footer, or nobody; so wide ones are asked for, and that schema is
written anew.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

_SCHEMA = b"ARROW:schema"
_MAGIC = b"PAR1"
_VALUE = b"\x18"  # what stands between the name and the value of a pair in a footer


def is_narrow(kind: Any, inside: bool = False) -> bool:
    """Whether a type has 32-bit offsets where Arrow makes one array of a column; not so of text that is not nested.

    Of maps, which have no others, it is asked what they hold.
    """
    from pyarrow import types

    kind = getattr(kind, "storage_type", kind)  # of an extension
    if str(kind).startswith(("list<", "list_view<")) or (inside and (types.is_string(kind) or types.is_binary(kind))):
        return True
    return any(is_narrow(kind.field(place).type, True) for place in range(kind.num_fields))


def widened(kind: Any, inside: bool = False) -> Any:
    """The same type with 64-bit offsets; extensions and what they hold stay as they are.

    >>> import pyarrow as pa
    >>> widened(pa.struct({"notes": pa.list_(pa.field("note", pa.string()))}))
    StructType(struct<notes: large_list<note: large_string>>)
    """
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return kind
    parts = [kind.field(i).with_type(widened(kind.field(i).type, True)) for i in range(kind.num_fields)]
    if types.is_map(kind):
        return pa.map_(*(parts[0].type.field(i) for i in range(2)), keys_sorted=kind.keys_sorted)
    if types.is_struct(kind):
        return pa.struct(parts)
    if types.is_fixed_size_list(kind):
        return pa.list_(parts[0], kind.list_size)
    if parts and "list" in str(kind).partition("<")[0]:
        return pa.large_list(parts[0])
    if inside and types.is_string(kind):
        return pa.large_string()
    return pa.large_binary() if inside and types.is_binary(kind) else kind


def wide_metadata(path: str, metadata: Any) -> Any:
    """A file's metadata, in which Arrow's schema, if there is one, has 64-bit offsets."""
    import pyarrow as pa
    from pyarrow import parquet

    told = (metadata.metadata or {}).get(_SCHEMA, b"")
    with suppress(ValueError):  # of a schema that is none the reader itself complains
        schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(told)))
        fields = [field.with_type(widened(field.type)) for field in schema]
        wide = base64.b64encode(pa.schema(fields, schema.metadata).serialize().to_pybytes())
        name = _counted(_SCHEMA) + _VALUE
        # The last: before the pairs stand the least and the largest values of columns, and a record may hold anything.
        before, found, after = _footer(path).rpartition(name + _counted(told))
        if found:
            foot = before + name + _counted(wide) + after
            return parquet.read_metadata(pa.BufferReader(_MAGIC + foot + len(foot).to_bytes(4, "little") + _MAGIC))
    return metadata


def _footer(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(-8, 2)
        size = int.from_bytes(file.read(4), "little")
        file.seek(-8 - size, 2)
        return file.read(size)


def _counted(text: bytes) -> bytes:
    """Bytes as they stand in a footer, in the compact form of thrift's: behind their number, of seven bits each."""
    size, digits = len(text), []
    while size > 127:
        digits.append(size & 127 | 128)
        size >>= 7
    return bytes([*digits, size]) + text
