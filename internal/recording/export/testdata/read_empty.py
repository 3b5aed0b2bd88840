"""Prints the columns of tables without rows, as JSON. usage: read_empty.py PARQUET CSV"""

import json
import sys

import duckdb
import pandas

parquet, csv = sys.argv[1:]
frame = pandas.read_parquet(parquet)
relation = duckdb.sql(f"from '{parquet}'")
text = pandas.read_csv(csv)
print(json.dumps({
    "pandas": list(frame.columns), "duckdb": relation.columns, "csv": list(text.columns),
    "rows": len(frame) + len(relation.fetchall()) + len(text),
}))
