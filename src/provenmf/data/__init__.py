"""Matrices as blocks of rows in memory, on disk or on Dask, and values stored per row.

`as_blocks` turns anything that holds a matrix into `Blocks`: arrays in memory (`memory`), files
read block by block (`disk`), and Dask arrays, whose chunks stay on the workers of a cluster
(`dask`). Solvers ask for passes and never for the place of the rows:

    blocks.map_reduce(function, *by_row)     the sum over the blocks of function(block, *parts)
    blocks.keep(function, *by_row)           `Rows`: function(block, *parts), stored by the block
    blocks.sum_and_keep(function, *by_row)   both in one pass; the function returns a pair
    blocks.map_rows(function, *by_row)       one result for each row as an array in this process
    blocks.arg_reduce(function, *by_row)     the row with the largest score
    blocks.each(function, *by_row)           (start, stop, result) of each block, in order
    blocks.place(array)                      `Rows`: an array with an entry for each row

`by_row` are `Rows`, arrays with an entry for each row, or the range of the row numbers; the
function gets the part of each that belongs to its block. Whatever has an entry for each row and is
needed again, such as weights (n, k), is kept as `Rows`. An array is `Rows` with one part
(`LocalRows.of`). Functions on parts run where the parts are stored:

    rows.map(function, *others)     new `Rows`: function(part, *parts of others) of each block
    rows.sum(function, *others)     the sum of that over the blocks
    rows.each(function, *others)    an iterator over that, in the order of the blocks
    rows.array()                    all parts as one array in this process; `array(f)` maps first

Sums are added up in a fixed tree over the blocks: equal blocks give equal bits in memory, on disk
and on any number of workers.
"""

from __future__ import annotations

from provenmf.data.base import Block, Blocks, ByRow, LocalRows, MappedBlocks, Part, Progress, Rows
from provenmf.data.door import as_blocks, at_safe_scale, is_outside_memory

__all__ = [
    "Block",
    "Blocks",
    "ByRow",
    "LocalRows",
    "MappedBlocks",
    "Part",
    "Progress",
    "Rows",
    "as_blocks",
    "at_safe_scale",
    "is_outside_memory",
]
