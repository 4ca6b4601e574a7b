"""Runs a workload on a file system, and says what is left of it."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import filesystems
import workloads
from filesystems import FaultyFS
from vfs import Vfs

TOP = "/mnt"


def main(words: list[str] | None = None) -> None:
    options = arguments(words)
    fs = filesystems.named(options.fs, options.fault_rate, options.seed)
    vfs = Vfs(filesystems.RamFS(), cache=options.cache)
    vfs.mkdir(TOP)
    mount = vfs.mount(TOP, fs)
    work = workload(vfs, options)
    done = sum(work() for _ in range(options.runs))
    left = vfs.unmount(TOP)
    things = "directories" if options.workload == "tree" else "files"
    print(f"{options.fs}, {options.workload}: {options.runs} runs, {done} {things}")
    print(f"lived: {mount.dentries_made} dentries, {mount.inodes_made} inodes")
    if isinstance(fs, FaultyFS):
        print(f"bad blocks: {fs.faults['Dentry']} dentries, {fs.faults['Inode']} inodes")
    print(f"busy after unmount: {left.dentries} dentries, {left.inodes} inodes")


def workload(vfs: Vfs, options: argparse.Namespace) -> Callable[[], int]:
    """One run of it; what is needed for all runs is made at once."""
    if options.workload == "tree":
        return lambda: workloads.tree(vfs, TOP, depth=options.depth, width=options.width)
    workloads.prepare(vfs, TOP, files=options.files, seed=options.seed)
    return lambda: workloads.build(vfs, TOP)


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A workload on a virtual file system.")
    parser.add_argument("--fs", choices=[*filesystems.GOOD, *filesystems.FAULTY], default="ramfs")
    parser.add_argument("--workload", choices=["tree", "build"], default="tree")
    parser.add_argument("--runs", type=int, default=3, help="of the workload (default: %(default)s)")
    parser.add_argument("--fault-rate", type=float, default=0.001, help="by object, if the file system has a mistake")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depth", type=int, default=4, help="of the tree (default: %(default)s)")
    parser.add_argument("--width", type=int, default=4, help="of the tree (default: %(default)s)")
    parser.add_argument("--files", type=int, default=60, help="to build (default: %(default)s)")
    parser.add_argument("--cache", type=int, default=4096, help="dentries that are kept (default: %(default)s)")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
