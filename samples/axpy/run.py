"""Runs the program of layout.csl and checks its result: cs_python run.py --name OUT"""
import argparse
import json

import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

parser = argparse.ArgumentParser()
parser.add_argument("--name", required=True, help="what `cslc -o NAME` has written")
name = parser.parse_args().name
with open(f"{name}/out.json", encoding="utf-8") as file:
    params = json.load(file)["params"]
w, h, n = int(params["width"]), int(params["height"]), int(params["N"])
copy = {"streaming": False, "data_type": MemcpyDataType.MEMCPY_32BIT,
        "order": MemcpyOrder.ROW_MAJOR, "nonblock": False}

x = np.arange(w * h * n, dtype=np.float32)
y = np.zeros_like(x)
runner = SdkRuntime(name)
runner.load()
runner.run()
runner.memcpy_h2d(runner.get_id("x"), x, 0, 0, w, h, n, **copy)
runner.memcpy_h2d(runner.get_id("y"), np.ones_like(x), 0, 0, w, h, n, **copy)
runner.launch("axpy", np.float32(0.5), nonblock=False)
runner.memcpy_d2h(y, runner.get_id("y"), 0, 0, w, h, n, **copy)
runner.stop()

np.testing.assert_array_equal(y, 0.5 * x + 1)
print(f"{w} x {h} tiles: {y.size} numbers as numpy has them")
print("SUCCESS")
