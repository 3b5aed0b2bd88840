"""Reads exported tables with the programs that users have and prints what each of them sees, as JSON.

usage: read_tables.py PARQUET CSV JSONL, paths of the tables of samples (and of the stream)
"""

import json
import sys

import duckdb
import pandas
import pyarrow.parquet


def sibling(path, table):
    base, extension = path.rsplit(".", 1)
    return f"{base}.{table}.{extension}"


def nanoseconds(series):
    """Times as whole nanoseconds since 1970."""
    return series.astype("datetime64[ns, UTC]").astype("int64")


def in_pandas(frame):
    """Count, sum, least and greatest of each column; a sum of times means nothing."""
    facts = {}
    for name in frame.columns:
        column = frame[name].dropna()
        if name == "time":
            column = nanoseconds(column)
        if column.empty:
            facts[name] = [0, 0, 0, 0]
            continue
        total = 0 if name in ("time", "time_ns") else int(column.sum())
        facts[name] = [int(column.count()), total, int(column.min()), int(column.max())]
    return facts


def in_duckdb(relation):
    names = duckdb.sql(f"select * from {relation} limit 0").columns
    parts = []
    for name in names:
        value = "epoch_ns(time)" if name == "time" else f'"{name}"::bigint'
        total = "0" if name in ("time", "time_ns") else f"coalesce(sum({value}), 0)"
        parts.append(f"count({value}), {total}, coalesce(min({value}), 0), coalesce(max({value}), 0)")
    row = [int(v) for v in duckdb.sql(f"select {', '.join(parts)} from {relation}").fetchall()[0]]
    return {name: row[4 * i : 4 * i + 4] for i, name in enumerate(names)}


def rows(path):
    """The rows of a table as DuckDB sees them, without the wall times."""
    relation = duckdb.sql(f"select columns(lambda c: c not in ('time', 'first_time')) from '{path}'")
    return [dict(zip(relation.columns, row)) for row in relation.fetchall()]


def main(parquet, csv, jsonl):
    stream = pandas.DataFrame([line for line in map(json.loads, open(jsonl)) if line["type"] == "sample"])
    stream = stream.drop(columns="type").convert_dtypes()
    stream["time"] = pandas.to_datetime(stream["time"])
    table = pyarrow.parquet.ParquetFile(parquet)
    print(json.dumps({
        "samples": {
            "parquet in pandas": in_pandas(pandas.read_parquet(parquet, dtype_backend="numpy_nullable")),
            "parquet in pyarrow": in_pandas(table.read().to_pandas(types_mapper=pandas.ArrowDtype)),
            "parquet in duckdb": in_duckdb(f"'{parquet}'"),
            "csv in pandas": in_pandas(pandas.read_csv(csv, dtype_backend="numpy_nullable", parse_dates=["time"])),
            "csv in duckdb": in_duckdb(f"read_csv('{csv}', sample_size = -1, types = {{'time': 'TIMESTAMP_NS'}})"),
            "jsonl in python": in_pandas(stream),
        },
        "row_groups": table.num_row_groups,
        "columns": table.schema_arrow.names,
        "time_type": str(table.schema_arrow.field("time").type),
        "metadata": {k.decode(): v.decode() for k, v in table.schema_arrow.metadata.items()} if table.schema_arrow.metadata else {},
        "events": {"parquet": rows(sibling(parquet, "events")), "csv": rows(sibling(csv, "events"))},
        "flows": {"parquet": rows(sibling(parquet, "flows")), "csv": rows(sibling(csv, "flows"))},
        "joined": duckdb.sql(
            f"select comm, count(*)::int from '{parquet}' join '{sibling(parquet, 'flows')}' using (flow) group by 1 order by 1"
        ).fetchall(),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
