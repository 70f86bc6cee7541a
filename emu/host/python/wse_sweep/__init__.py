"""Sweeps: one measurement for each of many points, several at a time.

    from wse_sweep import Kept, grid, sweep

    def measure(point):                                  # any function of a point
        return {"cycles": cycles_of(point["P"], point["B"])}

    outcomes = sweep(measure, grid(P=[2, 4, 8], B=[1, 16]), kept=Kept("results"))
    for outcome in outcomes:                             # in the order of the points
        print(outcome.point, outcome.values or outcome.error)

A point is a dictionary of numbers and texts, and so are its values (they may be lists, too).  A
result is written as soon as it is there, and whole; a sweep that was stopped or killed measures
only what is missing when it is started again.  A point that fails has an error and does not hold up
the others.  `Program` measures programs in CSL.

On one machine the points are measured on threads, which suits measurements that start programs.
`mpirun -n R wse-sweep SCRIPT.py` measures them in R - 1 processes, on any number of nodes.
"""
from wse_sweep.kept import Kept, digest_of_files
from wse_sweep.points import SweepError, grid
from wse_sweep.program import Program
from wse_sweep.run import Measured, Outcome, sweep
from wse_sweep.tables import write_table

__all__ = ["Kept", "Measured", "Outcome", "Program", "SweepError", "digest_of_files", "grid",
           "sweep", "write_table"]
