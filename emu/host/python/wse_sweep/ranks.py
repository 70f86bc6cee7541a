"""A sweep on processes that mpirun has started: the first one runs it, the others measure.

    python -m wse_sweep.ranks SCRIPT.py ARGS... | -m MODULE ARGS...
"""
import runpy
import sys


def _end_with_all(MPI):
    """Ends MPI together with the other processes, which have been sent home by now.

    mpi4py would abort all processes for an exit code that is not 0.  Open MPI 4.1 does not
    survive that each time: mpirun hangs or crashes when the others end at the same moment."""
    if MPI.COMM_WORLD.Get_rank() == 0:
        MPI.Finalize()


if __name__ == "__main__":
    try:
        import mpi4py.futures
    except ImportError:
        sys.exit("wse-sweep: error: a sweep on several processes needs mpi4py for "
                 f"{sys.executable}: install it (Debian: apt-get install python3-mpi4py)")
    sys.argv[0] = "mpi4py.futures"
    try:
        runpy.run_module("mpi4py.futures", run_name="__main__", alter_sys=True)
    finally:
        _end_with_all(mpi4py.MPI)
