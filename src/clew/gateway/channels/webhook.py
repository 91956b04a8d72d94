"""The channel over signed HTTP requests: a message in, its answer in the response, or posted once it is there."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clew.config.agents import entry_of
from clew.config.gateway import Webhook
from clew.errors import BadInput, BadSettings, Draining, NotAllowed
from clew.gateway.channels.desk import Desk, Incoming, reply
from clew.gateway.channels.names import redacted
from clew.gateway.channels.replies import Replies
from clew.gateway.channels.rules import WEBHOOK
from clew.gateway.channels.signature import AHEAD_S, Problem, problem
from clew.gateway.hub import Hub
from clew.gateway.worker import Run
from clew.logs import log
from clew.models.settings import expand

LEAST_SECRET = 16
"""Characters of a secret."""

MOST_BYTES = 1_048_576
"""Of a request's body; it is read before anybody knows who sent it."""

Name = Annotated[str, Field(max_length=200)]


class Message(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, Field(min_length=1, max_length=200)]
    """The sender's own; the same one is the same message."""
    timestamp: Annotated[int, Field(ge=0, lt=10**12)]
    """When it was said, in seconds since 1970-01-01 UTC."""
    sender: Annotated[str, Field(min_length=1, max_length=200)]
    name: Name = ""
    room: Name = ""
    topic: Annotated[str, Field(max_length=2_000)] = ""
    people: Annotated[int, Field(ge=1, lt=10**9)] | None = None
    text: Annotated[str, Field(min_length=1, max_length=500_000)]


class WebhookChannel:
    """The channel."""

    name = WEBHOOK

    def __init__(self, hub: Hub, settings: Webhook, *, first_s: float = 1.0) -> None:
        """Raises BadSettings where there is no secret worth the name, or no such agent."""
        written = settings.secret.get_secret_value() if settings.secret else ""
        secret = expand(written, hub.clew.env, "channels.webhook.secret")
        if len(secret) < LEAST_SECRET:
            raise BadSettings(
                f"channels.webhook is on, and its secret has {len(secret)} characters; it needs {LEAST_SECRET}. "
                "Nothing was started. Set channels.webhook.secret."
            )
        entry_of(hub.clew.config, settings.agent)
        self._hub, self._settings, self._secret = hub, settings, secret
        self._desk = Desk(hub, WEBHOOK, settings.agent)
        url = settings.reply_url
        self._replies = Replies(url, secret, now=hub.now, first_s=first_s) if url else None
        self._posts: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Answers of messages that a process before this one took in are posted too."""
        if self._replies is None:
            return
        self._replies.start()
        for run in self._desk.left():
            self._post(run, None)

    async def stop(self, patience_s: float) -> None:
        """Have what is under way posted, for so many seconds."""
        if self._replies is None:
            return
        if self._posts:
            await asyncio.wait(self._posts.values(), timeout=patience_s)
        await self._replies.stop(0 if self._posts else patience_s)
        for post in self._posts.values():
            post.cancel()

    def problem(self, timestamp: str | None, signature: str | None, body: bytes) -> Problem | None:
        """What is wrong with a request's signature."""
        return problem(self._secret, timestamp, signature, body, now_s=self._hub.now() / 1000)

    async def take(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """A signed request: the status and what is answered. Raises NotAllowed, BadInput, TooBusy, Draining."""
        message = self._read(body)
        said = Incoming(
            message.sender, message.text, message.name, message.room, message.id, topic=message.topic,
            people=message.people, home=message.sender,
        )  # fmt: skip
        try:
            run = await self._desk.take(said)
        except NotAllowed:
            log.warning("refused", channel=WEBHOOK, sender=redacted(message.sender), room=bool(message.room))
            raise
        if self._replies is not None:
            self._post(run, message)
            return 202, {"run": run.id, "state": run.state}
        with suppress(TimeoutError):
            await asyncio.wait_for(run.done.wait(), self._settings.wait_seconds)
        if not run.done.is_set():
            return 202, {"run": run.id, "state": run.state}
        if isinstance(run.error, Draining):
            raise run.error
        return 200, _answer(run)

    def _read(self, body: bytes) -> Message:
        try:
            message = Message.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            at = ".".join(map(str, first["loc"])) or "the body"
            raise BadInput(f"Nothing was taken in. {at}: {first['msg']}.") from None
        if message.timestamp > self._hub.now() / 1000 + AHEAD_S:
            raise BadInput("Nothing was taken in: the message's timestamp is in the future.")
        return message

    def _post(self, run: Run, message: Message | None) -> None:
        """Have a run's answer posted once it is there; only one waits for a run at a time."""
        if run.id not in self._posts:
            post = self._posts[run.id] = asyncio.create_task(self._posted(run, message))
            post.add_done_callback(lambda _: self._posts.pop(run.id, None))

    async def _posted(self, run: Run, message: Message | None) -> None:
        await run.wait()
        told = {"id": message.id, "sender": message.sender, "room": message.room} if message else {}
        if self._replies is not None and not isinstance(run.error, Draining):
            self._replies.offer({**_answer(run), **told})


def _answer(run: Run) -> dict[str, Any]:
    told = reply(run)
    return {"run": run.id, "state": run.state, "ok": told.ok, "outcome": told.outcome, "text": told.text}
