"""Results on disk: a file for each point, written whole."""
import hashlib
import json
import os
from pathlib import Path

__all__ = ["Kept", "digest_of", "digest_of_files", "key_of", "write_whole"]

_known = {}                     # (path, time, size): digest


def digest_of(path):
    """The digest of a file's content; None if it cannot be read."""
    try:
        status = os.stat(path)
        key = str(path), status.st_mtime_ns, status.st_size, status.st_ino
        if key not in _known:
            _known[key] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        return _known[key]
    except OSError:
        return None


def digest_of_files(paths):
    """One digest of the content of many files, in this order."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(f"{Path(path).name}\0{digest_of(path)}\n".encode())
    return whole.hexdigest()


def key_of(point):
    return json.dumps(point, sort_keys=True)


def write_whole(path, text):
    """Renamed into place: a kill at any moment leaves the old file or the new one."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text)
    part.replace(path)


class Kept:
    """A folder of results.

    `state` is a text for all that results depend on besides the point, such as a digest of the
    programs that measure: results of another state are not taken.  A result that came as
    `Measured` also names files; it is taken while these are as they were."""

    def __init__(self, folder, state=""):
        self.folder = Path(folder)
        self.state = state
        self.folder.mkdir(parents=True, exist_ok=True)

    def _path(self, point):
        name = hashlib.sha256((self.state + key_of(point)).encode()).hexdigest()[:32]
        return self.folder / f"{name}.json"

    def get(self, point):
        """The values of the point; None: there are none that hold."""
        try:
            found = json.loads(self._path(point).read_text())
            if found["point"] != point or found["state"] != self.state:
                return None
            files = found["files"].items()
            return found["values"] if all(digest_of(p) == d for p, d in files) else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None         # of another version, or damaged: measured again

    def put(self, point, values, files):
        write_whole(self._path(point), json.dumps(
            {"point": point, "state": self.state, "values": values, "files": files}))
