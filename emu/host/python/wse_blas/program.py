"""Programs of <blas/...>: compiled once, loaded on emulated tiles, and called."""
import ctypes
import hashlib
import os
import shutil
import subprocess
import threading
import weakref
from pathlib import Path

import numpy

import wse_lib
from cerebras.sdk.runtime._calls import Caller
from wse_blas.arguments import BlasError

__all__ = ["Session", "compile_program"]


# ---- compiling --------------------------------------------------------------------------------

def _root():
    return Path(__file__).resolve().parents[4]


def _compiler():
    if "WSE_BIN" in os.environ:
        named = Path(os.environ["WSE_BIN"]) / "cslc"
        if not named.exists():
            raise BlasError(f"WSE_BIN names {named.parent}, which has no cslc: name the folder of the "
                            "programs, or unset WSE_BIN")
        return named
    built = _root() / "build" / "release" / "bin" / "cslc"
    found = shutil.which("cslc") or (str(built) if built.exists() else None)
    if not found:
        raise BlasError("cslc is not on the PATH: run the script with cs_python, or build the project")
    return Path(found).resolve()


def _library_folder(cslc):
    named = os.environ.get("CSL_STDLIB")        # cslc looks nowhere else then
    installed = [cslc.parent.parent / "share" / "wse" / "stdlib", _root() / "stdlib"]
    for folder in [Path(named)] if named else installed:
        if (folder / "blas" / "program.csl").exists():
            return folder
    raise BlasError("the standard library has no blas/program.csl: install the project again, or name "
                    "the library's folder in CSL_STDLIB")


def _cache():
    named = os.environ.get("WSE_BLAS_CACHE") or os.environ.get("XDG_CACHE_HOME")
    try:
        base = named or Path.home() / ".cache"
    except RuntimeError:
        raise BlasError("there is no home folder to keep programs in: name a folder in "
                        "WSE_BLAS_CACHE") from None
    return Path(base) if os.environ.get("WSE_BLAS_CACHE") else Path(base) / "wse-blas"


def _begin(image):
    """A new file beside the image, to be renamed to it: an interrupt, or another process or thread,
    leaves no half of an image.  None if there is an image already."""
    made = image.with_name(f"{os.getpid()}-{threading.get_ident()}-{image.name}")
    try:
        if image.exists():
            return None
        image.parent.mkdir(parents=True, exist_ok=True)
        made.touch()
    except OSError as refused:
        raise BlasError(f"cannot keep a program in {image.parent}: {refused.strerror}: name another "
                        "folder in WSE_BLAS_CACHE") from None
    return made


def _key(cslc, library, words):
    """The key of an image: the compiler, the library's files, and the parameters."""
    digest = hashlib.sha256(f"{cslc} {cslc.stat().st_mtime_ns}".encode())
    for file in sorted(library.rglob("*.csl")):
        digest.update(file.read_bytes())
    digest.update(" ".join(words).encode())
    return digest.hexdigest()[:32]


# The plan says so, or the compiler about code and data.
_TOO_LARGE = ["bytes more than a tile has", "bytes too many"]


def compile_program(name, arch, element, **params):
    """The image of <blas/NAME>, or None if the parts do not fit into the tiles' memory."""
    cslc = _compiler()
    library = _library_folder(cslc)
    params["element"] = element.number
    words = [name, f"--arch={arch}", "--params=" + ",".join(f"{k}:{v}" for k, v in params.items())]
    if element.is_bf16:
        words.append("--fp16-format=bf16")
    image = _cache() / f"{_key(cslc, library, words)}.bin"
    made = _begin(image)
    if not made:
        return image
    try:
        done = subprocess.run([cslc, library / "blas" / f"{name}.csl", "-o", made, *words[1:]],
                              capture_output=True, text=True, errors="replace")
        if not done.returncode:
            made.replace(image)
            return image
    finally:
        made.unlink(missing_ok=True)
    if any(text in done.stderr for text in _TOO_LARGE):
        return None
    raise BlasError(f"the program does not compile:\n{done.stderr}")


# ---- running ----------------------------------------------------------------------------------

class Session:
    """A program on the tiles.  What one call leaves in their memory is there for the next one."""

    def __init__(self, image, element):
        self._element = element
        self._handle = ctypes.c_void_p()
        try:
            self._library = wse_lib.load()
            chosen = wse_lib.options_of_environment()
        except (ImportError, ValueError) as wrong:
            raise BlasError(str(wrong)) from None
        options = wse_lib.Options(check=wse_lib.CHECK_ERROR, threads=os.cpu_count() or 1, **chosen)
        status = self._library.wse_open(os.fsencode(image), ctypes.byref(options),
                                        ctypes.byref(self._handle))
        self._caller = Caller(self._library, self._handle)
        self._closed = weakref.finalize(self, self._library.wse_close, self._handle)
        if status == wse_lib.USAGE and "[image_" in self._message():
            raise BlasError(f"{self._message()}remove {image}: the next call compiles it again")
        self._check(status)
        geometry = wse_lib.Geometry()
        self._check(self._library.wse_geometry(self._handle, ctypes.byref(geometry)))
        self._size = geometry.width, geometry.height

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        self._closed()

    def _message(self):
        return self._library.wse_error(self._handle).contents.message.decode()

    def _check(self, status):
        if status != wse_lib.OK:
            raise BlasError(f"the run failed:\n{self._message()}")

    def _symbol(self, name):
        symbol = wse_lib.Symbol()
        self._check(self._library.wse_symbol(self._handle, name.encode(), ctypes.byref(symbol)))
        return symbol

    def _transfer(self, name, x, y, width, height, elements):
        symbol = self._symbol(name)
        return wse_lib.Transfer(target=symbol.id, is_16bit=symbol.element_bytes == 2, x=x, y=y,
                                width=width, height=height, x_step=1, y_step=1, elements=elements,
                                order=wse_lib.ROW_MAJOR)

    def _move(self, function, transfer, words):
        self._check(self._caller.call(function, ctypes.byref(transfer),
                                      words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)), None))

    def put(self, name, array, x=0, y=0):
        """Elements (height, width, of a tile) to the tiles from (x, y) on."""
        height, width, elements = array.shape
        words = numpy.ascontiguousarray(self._element.words(numpy.ascontiguousarray(array)))
        self._move(self._library.wse_h2d, self._transfer(name, x, y, width, height, elements), words)

    def get_words(self, name, elements, x=0, y=0, width=None, height=None):
        width, height = width or self._size[0], height or self._size[1]
        words = numpy.empty((height, width, elements), numpy.uint32)
        self._move(self._library.wse_d2h, self._transfer(name, x, y, width, height, elements), words)
        return words

    def get(self, name, elements, **region):
        """Elements (height, width, of a tile); without a region, of all tiles."""
        return self._element.array(self.get_words(name, elements, **region))

    def shape(self, count):
        """Numbers of the plan, which each tile has."""
        return [int(n) for n in self.get_words("shape", count, width=1, height=1).ravel()]

    def call(self, name, *factors):
        """Calls a function on all tiles; cycles from the first tile's start to the last one's end."""
        words = [int(self._element.words(factor)[0]) for factor in factors]
        self._check(self._caller.call(self._library.wse_launch, self._symbol(name).id,
                                      (ctypes.c_uint32 * max(1, len(words)))(*words), len(words), None))
        stamps = self.get_words("stamps", 6).astype(numpy.int64).reshape(-1, 2, 3)
        times = stamps[..., 0] + (stamps[..., 1] << 16) + (stamps[..., 2] << 32)
        return int(times[:, 1].max() - times[:, 0].min())
