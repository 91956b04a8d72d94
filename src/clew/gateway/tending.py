"""Work on a session beside its turns, done at once or not at all."""

from collections.abc import Awaitable, Callable
from typing import Any

from clew.errors import BadSettings, Conflict
from clew.gateway.hub import Hub
from clew.gateway.worker import Do


async def tended(hub: Hub, key: str, do: Do, without: Callable[[], Awaitable[Any]]) -> Any:
    """What comes of it; `without` does it where no model can be had for a conversation.

    Raises Conflict where something runs or waits, and what was raised in doing it.
    """
    worker = hub.worker(key)
    if worker and worker.busy:
        what = "has an active run" if worker.running else "has queued work"
        raise Conflict(f"Session {key} {what}; nothing was changed. Ask again when it is done.")
    run = await (await hub.upkeep(key, do)).wait()
    if isinstance(run.error, BadSettings):
        return await without()
    if run.error is not None:
        raise run.error
    return run.value
