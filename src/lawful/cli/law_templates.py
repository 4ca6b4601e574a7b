"""What ``lawful laws new`` writes: a law that works, with its programs, to be changed into another."""

from __future__ import annotations

_LAW = """\
// title: What was closed is not used
// rule: After `close` the object has given everything back; using it does nothing, or fails far away.
// docs: tutorial/classes.html
// fix: Use it before it is closed, or make a new one.
// severity: error
// cost: low
// profile: std

// Which events the law is about. `program.Thing` is the class `Thing` of the module `program`; `__main__` is the script
// that is run. `targetId` is the object; a name such as `thing` stands for one and the same object throughout.
closed(thing) matches {event: 'func_pre', name: '__main__.Thing.close', targetId: thing};
used(thing) matches {event: 'func_pre', name: '__main__.Thing.use', targetId: thing};
closed matches closed(_);
used matches used(_);
relevant matches closed | used;

// Of all events only those above are looked at. Things may be used; from the first `close` of one on, that one may not.
Main = relevant >> All;
All = used* {let thing; closed(thing) (Closed<thing> /\\\\ All)}?;
Closed<thing> = used(thing) >> empty;
"""

_CLASS = '''

class Thing:
    """Something that is used, and closed at the end."""

    def use(self) -> None:
        pass

    def close(self) -> None:
        pass

'''

_KEEPS = '''\
"""Keeps the law: what it does looks suspicious, and is allowed."""
{thing}
one, other = Thing(), Thing()
one.use()
one.close()
other.use()  # another one
other.close()
one = Thing()
one.use()  # a new one
'''

_BREAKS = '''\
"""Breaks the law in each line with the comment."""
{thing}
one = Thing()
one.use()
one.close()
one.use()  # violation
'''


def files(name: str) -> dict[str, str]:
    """The files of a new law, by their names."""
    return {
        f"{name}.rml": _LAW.replace("\\\\", "\\"),
        f"{name}.keeps.py": _KEEPS.format(thing=_CLASS),
        f"{name}.breaks.py": _BREAKS.format(thing=_CLASS),
    }
