"""Works with a git repository as one would in a week: adds, commits, branches, tags, fetches, clones, looks back."""

import io
import os
import tempfile

from dulwich import porcelain

WHO = b"A Writer <writer@example.org>"


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path


def commit(folder, names, message, time):
    porcelain.add(folder, [write(folder, name, f"{name} at {time}\n" * 5) for name in names])
    return porcelain.commit(
        folder, message=message.encode(), author=WHO, committer=WHO, author_timezone=0, commit_timezone=0
    )


def look(folder):
    out, errors = io.StringIO(), io.BytesIO()
    porcelain.log(folder, outstream=out, max_entries=5)
    porcelain.status(folder)
    porcelain.branch_list(folder)
    porcelain.tag_list(folder)
    list(porcelain.ls_files(folder))
    porcelain.ls_tree(folder, outstream=out, recursive=True)
    porcelain.show(folder, outstream=out)
    porcelain.rev_list(folder, [b"HEAD"], outstream=errors)
    porcelain.get_object_by_path(folder, "notes/a.txt")
    porcelain.describe(folder)
    porcelain.active_branch(folder)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        scratch = os.path.realpath(scratch)
        os.environ["HOME"] = scratch
        home = os.path.join(scratch, "home")
        porcelain.init(home).close()
        for day in range(4):
            commit(home, ["notes/a.txt", f"notes/{day}.txt", "readme"], f"day {day}", day * 86400)
            look(home)
            porcelain.tag_create(home, f"v{day}".encode(), author=WHO, message=b"a day", annotated=day % 2 == 0)
            porcelain.branch_create(home, f"topic{day}")
            porcelain.update_head(home, b"master")
            porcelain.write_tree(home)
            write(home, "notes/a.txt", f"changed {day}\n")
            porcelain.status(home)
            porcelain.reset(home, "hard", "HEAD")
            porcelain.check_ignore(home, ["readme"])
        porcelain.remove(home, [os.path.join(home, "notes", "0.txt")])
        porcelain.branch_delete(home, "topic0")
        porcelain.tag_delete(home, b"v1")
        commit(home, ["late.txt"], "late", 8 * 86400)
        porcelain.remote_add(home, "other", os.path.join(scratch, "copy1"))
        for number in range(2):
            copy = os.path.join(scratch, f"copy{number}")
            porcelain.clone(home, copy, errstream=io.BytesIO()).close()
            commit(copy, ["copied.txt"], "in a copy", (10 + number) * 86400)
            porcelain.push(copy, home, f"refs/heads/master:refs/heads/from{number}", io.BytesIO(), io.BytesIO())
            commit(home, [f"after{number}.txt"], "after", (20 + number) * 86400)
            porcelain.fetch(copy, "origin", errstream=io.BytesIO(), outstream=io.StringIO())
            porcelain.ls_remote(home)
            look(copy)
        porcelain.pack_objects(home, [], io.BytesIO(), io.BytesIO())
        porcelain.repack(home)
        list(porcelain.fsck(home))
        look(home)
        print(len(porcelain.branch_list(home)))


if __name__ == "__main__":
    main()
