"""Ray: what actors are sent, from the driver and from each other's processes.

A message is reported where it is sent. Processes of actors join the run like other children. Where
only a trace is written, each writes its part of it; the parts are put together by time, and by the senders' counters.
Otherwise all write down their messages in the folder of the run, and the driver judges them, in one order and a little
later. Where a law that is broken is to stop the message, they ask the driver before it goes out (`remote_judge.py`).
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from typing import TYPE_CHECKING, Any, Final

from lawful.sources.actors.groups import NOBODY, Party
from lawful.sources.actors.outbox import Inbox, Outbox
from lawful.sources.python.tracer_protocol import Want

if TYPE_CHECKING:
    from lawful.sources.actors.message_events import Answer
    from lawful.sources.actors.message_specs import MessageSpec
    from lawful.sources.actors.messages import MessageSource

JOIN_TOKEN: Final = "LAWFUL_RAY_JOIN_TOKEN"
_JOB: Final = "RAY_JOB_CONFIG_JSON_ENV_VAR"
_HOOK: Final = "lawful.sources.actors.ray.watch_worker"


class _Actor:
    """An actor, whichever process it lives in."""

    __slots__ = ("__weakref__", "id", "name")

    def __init__(self, id: str, name: str) -> None:
        self.id = id
        self.name = name  # of its class


class RayActors:
    """Implements what `MessageSource` needs of Ray. Nothing of it is imported that the program has not loaded."""

    def __init__(self, messages: MessageSource) -> None:
        self._messages = messages
        self._actors: dict[str, tuple[_Actor, Party]] = {}

    def register(self) -> None:
        messages = self._messages
        if not messages.groups_of.actors:
            return
        messages.carries("ray.actor", "ActorMethod._remote", self._remote)
        messages.carries("ray._private.worker", "init", self._init, Want.ON_RETURN)
        join_token = os.environ.get(JOIN_TOKEN)
        if join_token is not None and self._written:
            messages.outbox = Outbox(os.path.dirname(join_token))
        messages.groups_of.ray = self._current
        messages.events.stand_ins[_Actor] = lambda actor: actor.id

    @property
    def _written(self) -> bool:
        """Are messages written to files, to be judged later?"""
        messages = self._messages
        return not messages.at_once and (messages.judged or not messages.numbered)

    # -- messages ---------------------------------------------------------------------------------

    def _remote(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        method, values, named = args[0], args[1] or (), args[2] or None
        specs = self._messages.specs.of(method._method_name)
        if not specs:
            return None
        handle = method._actor
        self._messages.events.stand_ins.setdefault(type(handle), _id)
        descriptor = handle._ray_actor_creation_function_descriptor
        actor, receiver = self._known(_id(handle), f"{descriptor.module_name}.{descriptor.class_name}")
        fitting = tuple(spec for spec in specs if _is_called(spec, actor.name))
        if not fitting:
            return None
        sender = self._messages.groups_of.current()
        return self._messages.events.message(fitting, sender, receiver, actor, values, named, answerable=False)

    def _known(self, id: str, name: str) -> tuple[_Actor, Party]:
        known = self._actors.get(id)
        if known is None:
            actor = _Actor(id, name)
            party = Party(self._messages.groups_of.of_actor(name), actor, actor)
            known = self._actors[id] = actor, party
        return known

    def _current(self) -> Party:
        """The actor whose process this is."""
        ray = sys.modules.get("ray")
        if ray is None or not ray.is_initialized():
            return NOBODY
        id = ray.get_runtime_context().get_actor_id()
        if id is None:
            return NOBODY
        known = self._actors.get(id)
        if known is None:
            worker = ray._private.worker.global_worker
            instance = worker.actors.get(worker.actor_id)
            kinds = type(instance).__mro__ if instance is not None else ()
            # Ray makes a class of its own out of the program's.
            kind = next((each for each in kinds if not each.__module__.startswith("ray.")), None)
            known = self._known(id, "" if kind is None else f"{kind.__module__}.{kind.__qualname__}")
            if instance is not None:
                self._messages.groups_of.adopt(instance, known[1])
        return known[1]

    # -- the processes of actors ------------------------------------------------------------------

    def _init(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Answer:
        """`ray.init` begins: make workers join the run, unless the environment sets a job configuration already."""
        if self._messages.join_token is None or _JOB in os.environ:
            return None
        self._messages.groups_of.elsewhere = True
        path = self._messages.join_token()
        if self._written:
            self._messages.outbox = Outbox(os.path.dirname(path))
            self._messages.inbox = Inbox(os.path.dirname(path))
            if self._messages.message_cache is not None:
                self._messages.message_cache.disabled = True
        job = {"runtime_env": {"worker_process_setup_hook": _HOOK, "env_vars": {JOIN_TOKEN: path}}}
        os.environ[_JOB] = json.dumps(job)

        def over(_result: object, exception: str | None) -> list[dict[str, Any]]:
            os.environ.pop(_JOB, None)
            # Not earlier: Ray forks in there, and the interpreter warns of forks with threads.
            if exception is None and self._messages.at_once and self._messages.serve is not None:
                self._messages.serve()
            return []

        return [], over


def watch_worker() -> None:
    """In a new process of Ray: join the run."""
    path = os.environ.get(JOIN_TOKEN)
    if path is None:
        return
    try:
        with open(path, "rb") as file:
            pickle.loads(file.read())  # Lawful wrote it into the folder of the run
    except OSError:  # the run is over
        return


def _id(handle: Any) -> str:
    found: str = handle._actor_id.hex()
    return found


def _is_called(spec: MessageSpec, name: str) -> bool:
    return name == spec.owner or name.endswith(f".{spec.owner}")
