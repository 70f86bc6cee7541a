"""Outcomes as a table: CSV or JSON, written whole."""
import csv
import io
import json
from pathlib import Path

from wse_sweep.kept import write_whole
from wse_sweep.points import SweepError

__all__ = ["check_table", "write_table"]


def _names(dictionaries):
    return list(dict.fromkeys(name for one in dictionaries for name in one))


def _cell(value):
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _csv(outcomes):
    inputs = _names(outcome.point for outcome in outcomes)
    results = _names(outcome.values or {} for outcome in outcomes)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*inputs, *results, "error"])
    for outcome in outcomes:
        values = outcome.values or {}
        rows.writerow([*(outcome.point.get(name, "") for name in inputs),
                       *(_cell(values.get(name, "")) for name in results), outcome.error or ""])
    return text.getvalue()


def _json(outcomes):
    rows = []
    for outcome in outcomes:
        row = {"point": outcome.point}
        row.update({"values": outcome.values} if outcome.error is None else
                   {"error": outcome.error})
        rows.append(row)
    return json.dumps(rows, indent=1) + "\n"


def check_table(path):
    """The path of a table: its ending says the form."""
    if Path(path).suffix not in (".csv", ".json"):
        raise SweepError(f"'{path}' ends neither in .csv nor in .json, which are the forms of "
                         "tables")
    if not Path(path).resolve().parent.is_dir():
        raise SweepError(f"'{path}' is in no folder that exists")
    return Path(path)


def write_table(path, outcomes):
    """A row for each outcome: its point, its values, its error."""
    path = check_table(path)
    write_whole(path, _csv(outcomes) if path.suffix == ".csv" else _json(outcomes))
