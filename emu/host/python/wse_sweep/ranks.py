"""A sweep on processes that mpirun has started: the first one runs it, the others measure.

    python -m wse_sweep.ranks SCRIPT.py ARGS... | -m MODULE ARGS...
"""
import runpy
import sys

if __name__ == "__main__":
    try:
        import mpi4py.futures  # noqa: F401
    except ImportError:
        sys.exit("wse-sweep: error: a sweep on several processes needs mpi4py for "
                 f"{sys.executable}: install it (Debian: apt-get install python3-mpi4py)")
    sys.argv[0] = "mpi4py.futures"
    runpy.run_module("mpi4py.futures", run_name="__main__", alter_sys=True)
