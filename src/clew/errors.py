"""Every error Clew raises, as one tree whose branches say whose fault it is.

    ClewError
    ├── CallerError            what was asked for cannot be done as asked
    │   ├── UnknownSession
    │   ├── UnknownEntry
    │   ├── AmbiguousName
    │   ├── SessionExists
    │   ├── BadInput
    │   ├── PromptTooLarge
    │   ├── Exhausted
    │   └── BadSettings
    ├── ModelError             the model's answer cannot be used
    ├── ProviderError          the service behind the model failed
    │   ├── AuthFailed
    │   ├── RateLimited
    │   ├── ProviderTimeout
    │   ├── Unreachable
    │   ├── WindowOverflow
    │   └── BadRequest
    ├── StoreError             the file or database cannot be used
    │   ├── ForeignStore
    │   ├── NewerSchema
    │   ├── DamagedStore
    │   ├── StoreBusy
    │   └── Conflict
    ├── EngineError            a context engine or plug-in failed
    └── GatewayError           the gateway cannot take this on
        ├── TooBusy
        ├── Draining
        ├── NotAllowed
        └── NoGateway

A message says what happened, what was kept, and what to do next. A class's docstring is its default message.
"""


class ClewError(Exception):
    """Something went wrong in Clew."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class CallerError(ClewError):
    """The request cannot be carried out as asked; nothing was changed."""


class UnknownSession(CallerError):
    """There is no session with that key; nothing was changed. `clew sessions` lists the keys."""


class UnknownEntry(CallerError):
    """There is no entry with that id; nothing was changed."""


class AmbiguousName(CallerError):
    """More than one thing starts with that name; nothing was changed. Give more characters."""


class SessionExists(CallerError):
    """A session with that key exists already; nothing was changed. Choose another key."""


class BadInput(CallerError):
    """The input cannot be read; nothing was changed."""


class PromptTooLarge(CallerError):
    """The system prompt and the tools leave no room for a conversation; nothing was sent, and nothing lost."""

    def __init__(self, message: str = "", *, fixed: int = 0, history: int = 0, window: int = 0) -> None:
        super().__init__(message)
        self.facts = {"fixed": fixed, "history": history, "window": window}
        """Tokens of prompt and tools, of the conversation, and of the window."""


class Exhausted(CallerError):
    """The request does not fit the window and nothing more can be taken out of it; all that was said is kept."""

    def __init__(self, message: str = "", *, attempts: int = 0, terminal: bool = False) -> None:
        super().__init__(message)
        self.attempts = attempts
        """How often room was made and the request sent again."""
        self.terminal = terminal
        """Whether the provider's limit for one request is below it, so that nothing was tried."""


class BadSettings(CallerError):
    """The settings hold mistakes; nothing was changed."""


class ModelError(ClewError):
    """The model's answer cannot be used; the history is as it was."""


class ProviderError(ClewError):
    """The model's provider failed; the history is as it was."""


class AuthFailed(ProviderError):
    """The provider refused the credentials; the history is as it was. Check the API key."""


class RateLimited(ProviderError):
    """The provider limits the rate of requests; the history is as it was. Wait and try again."""


class ProviderTimeout(ProviderError):
    """The provider did not answer in time; the history is as it was."""


class Unreachable(ProviderError):
    """The provider cannot be reached; the history is as it was. Check the base URL and the network."""


class WindowOverflow(ProviderError):
    """The request is larger than the model's window; the history is as it was."""

    def __init__(self, message: str = "", *, limit: int | None = None, requested: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        """The window in tokens, where the provider named it."""
        self.requested = requested
        """The size of the request in tokens, where the provider named it."""


class BadRequest(ProviderError):
    """The provider refused the request; the history is as it was."""


class StoreError(ClewError):
    """The store cannot be used; it was left as it was."""


class ForeignStore(StoreError):
    """That file is not a Clew store; it was left untouched."""


class NewerSchema(StoreError):
    """The store was written by a newer Clew; it was left untouched. Upgrade Clew to open it."""


class DamagedStore(StoreError):
    """The store is damaged; it was left untouched."""


class StoreBusy(StoreError):
    """Another process holds the store; nothing was written. Try again."""


class Conflict(StoreError):
    """The session was compacted, reset or undone meanwhile; nothing was written."""


class EngineError(ClewError):
    """A context engine or plug-in failed."""


class GatewayError(ClewError):
    """The gateway cannot take this on; nothing was changed."""

    def __init__(self, message: str = "", *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Seconds after which to ask again; None where asking again does not help."""


class TooBusy(GatewayError):
    """Too much waits already; nothing was taken in. Ask again in a while."""


class Draining(GatewayError):
    """The gateway is ending; nothing was taken in. Ask again once it is back."""


class NotAllowed(GatewayError):
    """You are not allowed to do that; nothing was changed."""


class NoGateway(GatewayError):
    """No gateway answers; nothing was changed. Start one with `clew gateway`."""
