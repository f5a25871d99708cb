"""Keys of any type as one 64-bit number per row, and the check that a match is a match.

A key that is a single whole number, date, timestamp or boolean *is* its 64-bit number. Any other
key is hashed; two rows whose hashes agree are then compared on the key columns themselves, so equal
hashes of different keys never match. Inside a struct or a list nulls are equal to nulls, NaN to NaN
and -0.0 to 0.0, as in Spark's own joins. A row whose key is null matches nothing: `batch.arrange`
sets it apart before it gets here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels import hashing

_NULL = np.int64(0x5EED)
BYTES = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())


def is_exact(data_type: pa.DataType) -> bool:
    """Whether 64 bits hold every value of this type.

    Examples
    --------
    >>> is_exact(pa.int32()), is_exact(pa.string())
    (True, False)
    """
    return bool(
        (pa.types.is_integer(data_type) and data_type != pa.uint64())
        or pa.types.is_boolean(data_type)
        or (pa.types.is_temporal(data_type) and not pa.types.is_interval(data_type))
    )


def can_be_key(data_type: pa.DataType) -> bool:
    """Whether values of this type can be compared for equality here (maps cannot).

    Examples
    --------
    >>> can_be_key(pa.list_(pa.string())), can_be_key(pa.map_(pa.string(), pa.int64()))
    (True, False)
    """
    if pa.types.is_struct(data_type):
        return all(can_be_key(field.type) for field in data_type)
    if _is_list(data_type):
        return can_be_key(data_type.value_type)
    return bool(
        is_exact(data_type)
        or pa.types.is_floating(data_type)
        or pa.types.is_decimal128(data_type)
        or data_type in BYTES
    )


def comparable(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether keys of two types can be equal: the same type, or whole numbers of any size.

    Examples
    --------
    >>> comparable(pa.int32(), pa.int64()), comparable(pa.int32(), pa.uint32())
    (True, False)
    """
    signed = pa.types.is_signed_integer
    return bool(left == right or (signed(left) and signed(right)))


def exact_keys(column: pa.Array) -> Keys:
    """The keys of a column whose type `is_exact`; what stands in a null is undefined.

    Examples
    --------
    >>> exact_keys(pa.array([3, 1], pa.int32())).tolist()
    [3, 1]
    """
    if pa.types.is_temporal(column.type):
        wide = pa.int32() if column.type.bit_width == 32 else pa.int64()
        column = column.view(wide)
    column = column.cast(pa.int64())
    return np.asarray(column.fill_null(0) if column.null_count else column)


def hash_keys(columns: Sequence[pa.Array]) -> Keys:
    """A 64-bit hash per row over all columns.

    Equal keys have equal hashes; different keys may have equal ones too.

    Examples
    --------
    >>> a, b, c = hash_keys([pa.array(["x", "y", "x"]), pa.array([1.5, 1.5, 1.5])])
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    hashes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _fold(hashes, column)
    return hashes


def column_keys(column: pa.Array) -> Keys:
    """Values of one column as 64 bits: themselves where they fit, else their hashes."""
    return exact_keys(column) if is_exact(column.type) else hash_keys([column])


def equal_keys(left: Sequence[pa.Array], right: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """Whether row i of the left key columns equals row i of the right ones.

    Examples
    --------
    >>> equal_keys([pa.array(["a", "b"])], [pa.array(["a", "c"])]).tolist()
    [True, False]
    """
    same = np.ones(len(left[0]), np.bool_)
    for mine, other in zip(left, right, strict=True):
        same &= _equal(mine, other)
    return same


def _is_list(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_list(data_type) or pa.types.is_large_list(data_type))


def _float_bits(column: pa.Array) -> Keys:
    values = np.asarray(column.fill_null(0.0)).astype(np.float64) + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan  # one NaN for all
    return values.view(np.int64)


def _offsets_and_values(column: pa.Array) -> tuple[NDArray[np.int64], Any]:
    """Offsets of this slice of a list, string or binary array, and what they point into."""
    kind = column.type
    large = kind in (pa.large_string(), pa.large_binary()) or pa.types.is_large_list(kind)
    buffers = column.buffers()
    stored = np.frombuffer(buffers[1], np.int64 if large else np.int32)
    ours = slice(column.offset, column.offset + len(column) + 1)
    offsets = stored[ours].astype(np.int64)
    if _is_list(kind):
        return offsets, column.values
    return offsets, np.frombuffer(buffers[2] or b"", np.uint8)


def _fold(hashes: Keys, column: pa.Array) -> None:
    """Mix the values of a column into the hashes, in place."""
    kind = column.type
    before = hashes.copy() if column.null_count else None
    if len(column) == 0:
        return
    if pa.types.is_struct(kind):
        for i in range(kind.num_fields):
            _fold(hashes, pc.struct_field(column, i))
    elif _is_list(kind):
        offsets, values = _offsets_and_values(column)
        hashing.fold_runs(hashes, offsets, hash_keys([values]))
    elif kind in BYTES:
        hashing.fold_bytes(hashes, *_offsets_and_values(column))
    elif pa.types.is_decimal(kind):
        words = np.frombuffer(column.buffers()[1], np.int64)
        ours = words[2 * column.offset : 2 * (column.offset + len(column))]
        hashing.fold_words(hashes, ours[::2].copy())
        hashing.fold_words(hashes, ours[1::2].copy())
    elif pa.types.is_floating(kind):
        hashing.fold_words(hashes, _float_bits(column))
    else:
        hashing.fold_words(hashes, exact_keys(column))
    if before is not None:
        null = np.asarray(column.is_null())
        hashes[null] = before[null]
        hashing.fold_where(hashes, null, _NULL)


def _equal(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Row by row, with null equal to null."""
    kind = left.type
    if pa.types.is_struct(kind):
        mine, other = ([pc.struct_field(c, i) for i in range(len(kind))] for c in (left, right))
        same = equal_keys(mine, other) if len(kind) else np.ones(len(left), np.bool_)
    elif _is_list(kind):
        same = _equal_lists(left, right)
    elif pa.types.is_floating(kind):
        same = _float_bits(left) == _float_bits(right)
    else:
        same = np.asarray(pc.fill_null(pc.equal(left, right), False))
    if left.null_count or right.null_count:
        here, there = (np.asarray(column.is_valid()) for column in (left, right))
        same = np.where(here & there, same, here == there)
    return same


def _equal_lists(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    lengths = (pc.fill_null(pc.list_value_length(lists), 0) for lists in (left, right))
    mine, other = (np.asarray(length).astype(np.int64) for length in lengths)
    same: NDArray[np.bool_] = mine == other
    rows = np.flatnonzero(same & (mine > 0))
    if len(rows):
        at = pa.array(rows)
        parts = _equal(left.take(at).flatten(), right.take(at).flatten())
        starts = np.concatenate(([0], np.cumsum(mine[rows])[:-1]))
        same[rows] = np.logical_and.reduceat(parts, starts)
    return same
