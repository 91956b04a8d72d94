"""Names that channels make: of sessions, of messages, and of people in the log. The same in, the same out."""

import hashlib
from urllib.parse import quote

ROOMS = "#&+!"
"""A name that begins with one of these is a room's; no person's does, so that no one person's session is a room's."""

LONGEST = 100
"""Characters of a name in a key; of a longer one a digest stands there."""

_VISIBLE = "".join(chr(code) for code in range(33, 127) if chr(code) not in "%:")


def key_of(agent: str, channel: str, sender: str, room: str = "") -> str:
    """The session of a room, or of one person: `agent:ID:CHANNEL:NAME`. A room `ops` is the room `#ops`."""
    if room:
        name = quote(room if room[0] in ROOMS else f"#{room}", safe=_VISIBLE)
    else:
        name = quote(sender, safe=_VISIBLE if sender[:1] not in ROOMS else "")
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 33]}~{digest(name)[:32]}"
    return f"agent:{agent}:{channel}:{short}"


def message_id(channel: str, key: str, sender: str, id: str) -> str:
    """What the entry of a message is called, however often it comes in. Another person's message is another one."""
    return f"{channel}-{digest(chr(0).join((key, sender, id)))[:40]}"


def redacted(name: str) -> str:
    """What stands for a person in the log: the same for the same one, and no way back to the name."""
    return digest(name)[:8]


def digest(text: str) -> str:
    """A text's hash, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
