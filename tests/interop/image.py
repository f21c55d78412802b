# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What the guest boots: the kernel of a Debian package, and an initramfs out of its modules and of programs
installed here.

The package is downloaded once into build/interop. Nothing of it is installed.
"""
import glob
import importlib.machinery
import importlib.util
import lzma
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tarfile

from cpio import CpioWriter

HERE = pathlib.Path(__file__).resolve().parent

# Debian's kernel for virtual machines in clouds has no rdma_rxe.
KERNEL_PACKAGE = "linux-image-amd64"
MODULES = (
    "virtio_pci virtio_net virtio_console virtio_rng rdma_rxe ib_uverbs rdma_ucm"
    " sch_netem sch_prio sch_ingress cls_u32 act_mirred ifb crc32_generic"
).split()
# Drivers that leave a card to a program, for a guest that urnic runs in.
CARD_MODULES = (
    "virtio_pci virtio_net virtio_console virtio_rng uio_pci_generic vfio_pci vfio_iommu_type1".split()
)
PROGRAMS = (
    "ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong"
    " ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat"
    " rping ucmatose udaddy mckey rdma_server rdma_client rdma_xserver rdma_xclient rstream ip tc rdma dash setpriv"
).split()


# What is taken out of the package.
_WANTED = [*MODULES, *(name for name in CARD_MODULES if name not in MODULES)]


class ImageError(Exception):
    """What is missing, in words for the person who started the tests."""


class Kernel:
    """An unpacked kernel in `folder`: vmlinux, and modules/ with the wanted ones and those that they need."""

    def __init__(self, folder):
        self.folder = folder
        self.vmlinux = folder / "vmlinux"
        self.modules = folder / "modules"
        self.version = _version(folder.name)

    def copy_to(self, folder):
        """Into this folder, where users without privilege can read it."""
        copy = folder / self.folder.name
        shutil.copytree(self.folder, copy, dirs_exist_ok=True)
        copy.chmod(0o755)
        return Kernel(copy)

    def load_order(self, wanted=MODULES):
        """File names of these modules, each after the modules that it needs."""
        order = []

        def visit(name):
            path = self.modules / f"{name}.ko"
            if not path.exists() or path.name in order:  # not there: built into the kernel
                return
            for needed in _needs(path.read_bytes()):
                visit(needed)
            order.append(path.name)

        for name in wanted:
            visit(name)
        return order


def _version(name):
    """Numbers of Linux' version in the name of a package, for instance (6, 1)."""
    return tuple(int(number) for number in re.search(r"linux-image-(\d+)\.(\d+)", name).groups())


def _needs(module):
    """The modules that a module file says it depends on."""
    match = re.search(rb"\0depends=([^\0]*)\0", module)
    return [_module_name(name) for name in match.group(1).decode().split(",") if name] if match else []


def _module_name(name):
    return name.replace("-", "_")


def _run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise ImageError(f"{' '.join(map(str, command))} failed: {(result.stderr or result.stdout).strip()}")
    return result.stdout


def _kernel_there(cache):
    """One that was unpacked for fewer modules is of no use."""
    there = sorted(cache.glob("kernel-*/wanted"), key=os.path.getmtime)
    folders = [file.parent for file in there if file.read_text().split() == _WANTED]
    return folders[-1] if folders else None


def package_of(cache):
    """The package that the kernel comes from."""
    return _kernel_there(cache).name.removeprefix("kernel-")


def _apt_options(cache, suite):
    """For the packages of another Debian, from the mirror that this system has. Its lists stand in `cache`;
    nothing of this system's changes."""
    if suite is None:
        return []
    file = str(HERE.parents[1] / "tools/development/platforms/debian-root")
    loader = importlib.machinery.SourceFileLoader("debian_root", file)
    debian_root = importlib.util.module_from_spec(importlib.util.spec_from_loader("debian_root", loader))
    loader.exec_module(debian_root)
    folder = cache / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("".join(f"{line}\n" for line in debian_root.sources(suite, None)))
    options = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def _newest_package(apt_options):
    for may_update in (True, False):
        listed = subprocess.run(
            ["apt-cache", *apt_options, "depends", KERNEL_PACKAGE], capture_output=True, text=True
        ).stdout
        match = re.search(r"Depends: (linux-image-\d\S*)", listed)
        if match:
            return match.group(1)
        # The lists of packages are not kept in images for containers.
        if may_update and os.geteuid() == 0:
            _run("apt-get", "-qq", *apt_options, "update")
    raise ImageError(f"no kernel is known as {KERNEL_PACKAGE}")


def prepare_kernel(cache, suite=None):
    """The newest kernel in `cache`; without one, what the package manager has is downloaded and unpacked
    there. `suite`: the name of another Debian than this system's; it has a cache of its own."""
    there = _kernel_there(cache)
    if there:
        return Kernel(there)
    apt_options = _apt_options(cache, suite)
    package_name = _newest_package(apt_options)
    folder = cache / f"kernel-{package_name}"
    parts = cache / f"unpacking-{os.getpid()}"
    shutil.rmtree(parts, ignore_errors=True)
    (parts / "modules").mkdir(parents=True)
    try:
        # Root's download goes through a user who may not write here.
        download = ["-o", "APT::Sandbox::User=root", "download", package_name]
        _run("apt-get", "-qq", *apt_options, *download, cwd=parts)
        (package,) = parts.glob("*.deb")
        _unpack(package, parts)
        package.unlink()
        (parts / "wanted").write_text(" ".join(_WANTED))
        shutil.rmtree(folder, ignore_errors=True)
        parts.rename(folder)
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    return Kernel(folder)


def _unpack(package, folder):
    """Takes from the package what a guest needs, without writing the other 400 MB anywhere."""
    everything = {}
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as process:
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            for entry in archive:
                name = pathlib.PurePath(entry.name)
                if name.name.startswith("vmlinuz-"):
                    (folder / "vmlinux").write_bytes(_unpack_kernel(archive.extractfile(entry).read()))
                    continue
                module, ending, packing = name.name.partition(".ko")
                if ending and packing in _UNPACK and _may_be_needed(name):
                    everything[_module_name(module)] = _UNPACK[packing](archive.extractfile(entry).read())

    def keep(name):
        path = folder / "modules" / f"{name}.ko"
        if name in everything and not path.exists():
            path.write_bytes(everything[name])
            for needed in _needs(everything[name]):
                keep(needed)

    for name in _WANTED:
        keep(name)
    if not (folder / "modules/rdma_rxe.ko").exists() or not (folder / "vmlinux").exists():
        raise ImageError(f"{package.name} has no kernel with rdma_rxe")


# By what follows ".ko" in a module's name. Debian packs modules since its release 13.
_UNPACK = {"": bytes, ".xz": lzma.decompress}


def _may_be_needed(name):
    """Spares memory: graphics, sound and file systems are most of the package."""
    path = str(name)
    return any(
        part in path
        for part in (
            "/virtio/",
            "/net/",
            "/infiniband/",
            "/configfs/",
            "/char/",
            "/crypto/",
            "/lib/",
            "/arch/",
            "/uio/",
            "/vfio/",
        )
    )


def _unpack_kernel(image):
    """The kernel proper out of a bzImage: QEMU starts it directly, and the emulated processor need not unpack
    it.

    The header says how many sectors the boot code has (0x1f1, without the first). The compressed kernel
    follows the boot code; the header has its offset from there and its size (0x248, 0x24c):
    Documentation/x86/boot.rst."""
    offset, size = struct.unpack_from("<II", image, 0x248)
    packed = image[(image[0x1F1] + 1) * 512 + offset :][:size]
    if not packed.startswith(b"\xfd7zXZ"):
        return image
    # After the stream comes its unpacked size, which is no part of it.
    return lzma.LZMADecompressor().decompress(packed)


def _libraries(path):
    """The shared libraries that a program needs, as the loader finds them."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return re.findall(r"(?:=> |^\s*)(/\S+)", listed, re.MULTILINE)


def _find_program(name):
    path = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if path is None:
        raise ImageError(f"{name} is not installed (tools/install-packages interop)")
    return path


def _find_one(pattern, package):
    found = sorted(glob.glob(pattern))
    if not found:
        raise ImageError(f"{pattern} is not there (package {package})")
    return found[0]


def _in_usr(path):
    """Where a file goes in the archive: /bin and /lib are links into /usr there."""
    path = str(path).lstrip("/")
    return path if path.startswith("usr/") else f"usr/{path}"


def build_initramfs(path, kernel, programs, modules=MODULES, installation=None):
    """Writes an initramfs: drivers, the programs of Debian, `programs`, and what all of them need.
    `installation` is a folder that urnic is installed into; in the guest it is /opt/urnic."""
    with open(path, "wb") as file:
        archive = CpioWriter(file)
        for folder in ("proc", "sys", "dev", "tmp", "etc", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64"):
            archive.add_folder(folder)
        for folder in ("bin", "sbin", "lib", "lib64"):
            archive.add_link(folder, f"usr/{folder}")

        def add_binary(source, name=None):
            archive.add_file(name or _in_usr(source), pathlib.Path(source).read_bytes())
            for library in _libraries(source):
                archive.add_file(_in_usr(library), pathlib.Path(library).read_bytes())

        for name in PROGRAMS:
            add_binary(_find_program(name))
        for program in programs:
            add_binary(program, f"usr/bin/{pathlib.Path(program).name}")
        for file in sorted(installation.rglob("*")) if installation else ():
            name = f"opt/urnic/{file.relative_to(installation)}"
            if file.is_symlink():
                archive.add_link(name, os.readlink(file))
            elif file.is_file():
                add_binary(file, name)
        # Nothing names these two: libibverbs loads its driver, and glibc what ends a thread.
        add_binary(_find_one("/usr/lib/*/libibverbs/librxe-rdmav*.so", "ibverbs-providers"))
        add_binary(_find_one("/lib/*/libgcc_s.so.1", "libgcc-s1"))
        archive.add_file("etc/libibverbs.d/rxe.driver", b"driver rxe\n", 0o644)
        archive.add_file(
            "etc/passwd", b"root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n", 0o644
        )
        archive.add_file("etc/hosts", b"127.0.0.1 localhost\n", 0o644)

        # The shell is not busybox's, which would prefer its own ip to the one that we brought.
        archive.add_link("usr/bin/sh", "dash")
        busybox = _find_program("busybox")
        add_binary(busybox, "usr/bin/busybox")  # also when it is not the static one
        for applet in _run(busybox, "--list").split():
            if not archive.holds(f"usr/bin/{applet}") and not archive.holds(f"usr/sbin/{applet}"):
                archive.add_link(f"usr/bin/{applet}", "busybox")

        archive.add_file("init", (HERE / "guest/init").read_bytes())
        archive.add_file("usr/bin/agent", (HERE / "guest/agent").read_bytes())
        order = kernel.load_order(modules)
        for module in order:
            archive.add_file(f"modules/{module}", (kernel.modules / module).read_bytes(), 0o644)
        archive.add_file("modules/order", "".join(f"{module}\n" for module in order).encode(), 0o644)
        archive.close()
    return path
