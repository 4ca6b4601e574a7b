"""Makes zip and tar archives of a folder, adds to them, lists, tests, reads and unpacks them."""

import os
import tarfile
import tempfile
import zipfile


def fill(folder):
    for number in range(8):
        path = os.path.join(folder, f"part{number % 3}")
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, f"file{number}.txt"), "w") as file:
            file.write(f"text {number}\n" * (number * 40 + 1))
    with open(os.path.join(folder, "module.py"), "w") as file:
        file.write("answer = 42\n")


def zips(folder, scratch, method):
    path = os.path.join(scratch, f"all{method}.zip")
    with zipfile.ZipFile(path, "w", method) as archive:
        for top, _, names in os.walk(folder):
            for name in sorted(names):
                archive.write(os.path.join(top, name), name)
        archive.writestr("more.txt", "more\n" * 20)
        archive.mkdir("empty")
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.writestr("late.txt", "late\n" * 30)
        with archive.open("stream.txt", "w") as file:
            for _ in range(5):
                file.write(b"some bytes\n" * 10)
    zipfile.is_zipfile(path)
    with zipfile.ZipFile(path) as archive:
        print(archive.testzip(), len(archive.namelist()))
        for name in archive.namelist()[:6]:
            archive.read(name)
        with archive.open("late.txt") as file:
            file.read(10)
            file.seek(5)
            file.readline()
        archive.extractall(os.path.join(scratch, f"zip{method}"))
        zipfile.Path(archive, "more.txt").read_text()
    with zipfile.PyZipFile(os.path.join(scratch, f"code{method}.zip"), "w") as archive:
        archive.writepy(os.path.join(folder, "module.py"))


def tars(folder, scratch, mode):
    path = os.path.join(scratch, f"all.tar.{mode}")
    with tarfile.open(path, f"w:{mode}") as archive:
        archive.add(folder, "all")
    if not mode:
        with tarfile.open(path, "a") as archive:
            archive.add(os.path.join(folder, "module.py"), "late.py")
    tarfile.is_tarfile(path)
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                with archive.extractfile(member) as file:
                    file.readline()
                    file.seek(0)
                    file.read()
        archive.extractall(os.path.join(scratch, f"tar{mode}"), filter="data")
    with tarfile.open(os.path.join(scratch, f"stream.tar.{mode}"), f"w|{mode}") as archive:
        archive.add(folder, "all")
    with tarfile.open(os.path.join(scratch, f"stream.tar.{mode}"), f"r|{mode}") as archive:
        print(len([member.name for member in archive]))


def attempt(work, *arguments):
    try:
        work(*arguments)
    except Exception as error:  # one bad archive should not stop the others
        print(type(error).__name__, *arguments[2:])


def main():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
        fill(folder)
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            attempt(zips, folder, scratch, method)
        for mode in ("", "gz", "bz2", "xz"):
            attempt(tars, folder, scratch, mode)


if __name__ == "__main__":
    main()
