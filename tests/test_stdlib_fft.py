"""<kernels/fft>: transforms of N x N x N numbers against numpy."""
import numpy
import pytest

import harness

PROGRAM = harness.ROOT / "tests" / "stdlib" / "fft3d" / "layout.csl"
NORMS = {0: "backward", 1: "ortho", 2: "forward"}


def tiles_of(cube, width):
    """[y][x][z] as the tiles hold it: [tile y][tile x][z, y, x, part]."""
    n = len(cube)
    t = n // width
    parts = numpy.stack([cube.real, cube.imag], axis=-1)
    return parts.reshape(width, t, width, t, n, 2).transpose(0, 2, 4, 1, 3, 5).reshape(
        width, width, -1)


def cube_of(tiles, n):
    width = len(tiles)
    t = n // width
    parts = tiles.reshape(width, width, n, t, t, 2).transpose(0, 3, 1, 4, 2, 5)
    return parts[..., 0].reshape(n, n, n) + 1j * parts[..., 1].reshape(n, n, n)


def run(tmp_path, arch, n, width, dtype, cube, call, corner=0):
    image = tmp_path / "o.bin"
    columns, rows = corner + width, 2 * corner + width
    harness.compile(PROGRAM, image, f"--arch={arch}", "--memcpy", "--channels=1",
                    f"--fabric-dims={columns + 7},{rows + 2}", "--fabric-offsets=4,1",
                    params={"size": n, "width": width, "half": int(dtype == numpy.float16),
                            "corner": corner})
    region = f"@{corner},{2 * corner},{width},{width}"
    angle = 2 * numpy.pi * numpy.arange(n // 2) / n
    twiddles = numpy.stack([numpy.cos(angle), numpy.sin(angle)], axis=-1).ravel().astype(dtype)
    twiddles = numpy.broadcast_to(twiddles, (width, width, n))
    data = tiles_of(cube, width).astype(dtype)
    harness.emu(
        image, f"--h2d=twiddle_array{region}={harness.save_npy(tmp_path / 't.npy', twiddles)}",
        f"--h2d=X{region}={harness.save_npy(tmp_path / 'x.npy', data)}", f"--launch={call}",
        f"--d2h=X{region}={tmp_path / 'y.npy'}",
        f"--d2h=fft_time{region}={tmp_path / 'time.npy'}")
    times = harness.load_npy(tmp_path / "time.npy").reshape(-1, 2)
    assert (times[:, 1] == 0).all() and (times[:, 0] > 100).all()
    found = harness.load_npy(tmp_path / "y.npy").astype(numpy.float64)
    return cube_of(found.reshape(width, width, -1), n)


def random_cube(n, real=False):
    rng = numpy.random.default_rng(n)
    cube = rng.uniform(-1, 1, (n, n, n)) + 1j * rng.uniform(-1, 1, (n, n, n))
    return cube.real.astype(complex) if real else cube


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
@pytest.mark.parametrize("n, width", [(2, 1), (2, 2), (4, 2), (8, 1), (8, 4), (16, 4)])
@pytest.mark.parametrize("inverse", [0, 1], ids=["forward", "inverse"])
def test_c2c(tmp_path, arch, n, width, inverse):
    norm = n % 3
    cube = random_cube(n)
    found = run(tmp_path, arch, n, width, numpy.float32, cube, f"csfftExecC2C({norm},{inverse})")
    want = (numpy.fft.ifftn if inverse else numpy.fft.fftn)(cube, norm=NORMS[norm])
    assert abs(found - want).max() < 2e-6 * abs(want).max()


@pytest.mark.parametrize("norm", NORMS)
def test_real_forms_and_norms(tmp_path, norm):
    cube = random_cube(8, real=True)
    for name, call, given, want in (
            ("forward", "csfftExecR2C", cube, numpy.fft.fftn(cube, norm=NORMS[norm])),
            ("inverse", "csfftExecC2R", numpy.fft.fftn(cube),
             numpy.fft.ifftn(numpy.fft.fftn(cube), norm=NORMS[norm]))):
        (tmp_path / name).mkdir()
        found = run(tmp_path / name, "wse3", 8, 2, numpy.float32, given, f"{call}({norm})")
        assert abs(found - want).max() < 3e-6 * abs(want).max()


def test_f16(tmp_path):
    cube = random_cube(8)
    found = run(tmp_path, "wse3", 8, 2, numpy.float16, cube, "csfftExecC2C(0,0)")
    want = numpy.fft.fftn(cube)
    assert abs(found - want).max() < 6e-3 * abs(want).max()


@pytest.mark.parametrize("arch", ["wse2", "wse3"])
def test_form_with_the_place_of_the_first_tile(tmp_path, arch):
    cube = random_cube(8)
    found = run(tmp_path, arch, 8, 2, numpy.float32, cube, "csfftExecC2C(0,0)", corner=3)
    want = numpy.fft.fftn(cube)
    assert abs(found - want).max() < 2e-6 * abs(want).max()


def test_no_form_has_as_many_arguments(tmp_path):
    layout = tmp_path / "layout.csl"
    layout.write_text(PROGRAM.read_text().replace("fft.FFT_kernel(width, size, real)",
                                                  "fft.FFT_kernel(0, width, size, real)"))
    failed = harness.cslc(layout, "--memcpy", "--channels=1", "--params=size:4,width:2,half:0",
                          "-o", tmp_path / "o.bin", expect=1)
    assert "'FFT_kernel' takes 3 argument(s), found 4" in failed.err
