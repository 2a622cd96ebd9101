"""What those who ask model services share: limits, gathering a stream, and its failures.

A service is a peer: it may answer with another model, break off, send what cannot be read, or
repeat a key in its error. Whatever it does ends as an answer or as one of our errors, and no
message has the key in it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from lapse.errors import InvalidValue, LapseError, MalformedMessage, PeerError, Refused
from lapse.judges.planning import Tokens
from lapse.judges.replies import LONGEST

if TYPE_CHECKING:
    from collections.abc import Generator

    from pydantic import SecretStr

    from lapse.judges.prompting import Prompt
    from lapse.ledger import JsonObject

__all__ = [
    "Answer",
    "Errors",
    "Form",
    "Gathering",
    "Limits",
    "Service",
    "check_key",
    "explained",
    "member",
]

_MOST_EVENTS: Final = 100_000
"""Events of one answer that are read: more than any request of ours has tokens."""

_SAID = 300
"""Characters that a message repeats of what a service said."""

_LEAST_ERROR = 400
"""Where HTTP's errors begin; a stream that fails midway began with a success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how often to ask.

    Attributes:
        timeout_seconds: for a connection, and for each piece of an answer.
        retries: how often the SDK asks again after a rate limit, a server's error or a broken
            connection; it waits as long as the service says, at most two minutes.
        answer_tokens: how long an answer may be.

    Raises:
        InvalidValue: a limit that no answer could keep.
    """

    timeout_seconds: float = 60.0
    retries: int = 2
    answer_tokens: int = 1_024

    def __post_init__(self) -> None:
        if not self.timeout_seconds > 0:
            raise InvalidValue("timeout_seconds", self.timeout_seconds, "pass more than 0")
        if self.retries < 0:
            raise InvalidValue("retries", self.retries, "pass 0 or more")
        if self.answer_tokens < 1:
            raise InvalidValue("answer_tokens", self.answer_tokens, "pass 1 or more")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered, whole.

    Attributes:
        text: what the model wrote.
        model: the one that the answer names.
        tokens: what the service bills.
        ended: why the model stopped, in the service's words.
        cut: what is missing of it, in our words; empty when nothing is.
    """

    text: str
    model: str
    tokens: Tokens
    ended: str
    cut: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What an answer has to be: one JSON object.

    Attributes:
        schema: the object's JSON Schema.
        name: what the object is called, for services that name answers or tools.
        says: what sending it does, for services that call tools.
        strict: whether the service may hold the model to the schema, which then requires every
            member; not every service can.
    """

    schema: JsonObject
    name: str = "request"
    says: str = "Sends the request."
    strict: bool = False


class Service(Protocol):
    """Answers a prompt with a JSON object. Called from one thread."""

    @property
    def name(self) -> str:
        """The model, behind the kind of its service."""
        ...

    @property
    def model(self) -> str:
        """The name that its answers have to bear."""
        ...

    @property
    def settings(self) -> tuple[str, ...]:
        """What an answer depends on beside model and prompt."""
        ...

    @property
    def answer_tokens(self) -> int:
        """How long an answer may be."""
        ...

    def close(self) -> None:
        """Give connections or memory back."""
        ...

    def ask(self, prompt: Prompt, form: Form) -> Answer:
        """The answer, whole or cut.

        Raises:
            Refused, MalformedMessage, PeerError: the service does not do its part.
            InvalidValue: the prompt does not fit, or the form cannot be asked for.
        """
        ...


@dataclass(slots=True)
class Gathering:
    """An answer while its events arrive. What a service sends in the wrong type is not taken."""

    models: list[str] = field(default_factory=list[str])
    pieces: list[str] = field(default_factory=list[str])
    stopping: object = None
    """Why the model stopped, as long as the stream has not ended."""
    ended: str | None = None
    prompt: int | None = None
    completion: int | None = None
    _length: int = 0
    _events: int = 0

    def event(self) -> None:
        """Count an event.

        Raises:
            MalformedMessage: there is no end to them.
        """
        self._events += 1
        if self._events > _MOST_EVENTS:
            raise MalformedMessage(f"the model's answer has more than {_MOST_EVENTS:,} events")

    def model(self, name: object) -> None:
        """Take down the model that an event names."""
        if isinstance(name, str) and name and name not in self.models:
            self.models.append(name)

    def text(self, piece: object) -> None:
        """Take in a piece of what the model wrote.

        Raises:
            MalformedMessage: it is longer than any request.
        """
        if isinstance(piece, str):
            self.pieces.append(piece)
            self._length += len(piece)
            if self._length > LONGEST:
                raise MalformedMessage(f"the model's answer has more than {LONGEST:,} characters")

    def bill(self, prompt: object, completion: object) -> None:
        """Take down what is billed so far; a count that is none is left out."""
        if isinstance(prompt, int) and prompt >= 0:
            self.prompt = prompt
        if isinstance(completion, int) and completion >= 0:
            self.completion = completion

    def end(self, reason: object) -> None:
        """Take down why the model stopped; the first reason counts."""
        if isinstance(reason, str) and reason and self.ended is None:
            self.ended = reason

    def whole(self) -> Answer:
        """The answer, after its last event.

        Raises:
            MalformedMessage: it broke off, or does not say what it costs.
        """
        if self.ended is None:
            raise MalformedMessage("the model's answer breaks off before its end")
        if self.prompt is None or self.completion is None:
            raise MalformedMessage("the model's answer does not say how many tokens it took")
        tokens = Tokens(self.prompt, self.completion)
        return Answer("".join(self.pieces), " and ".join(self.models), tokens, self.ended)


def member(value: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within an object that a service sent; empty when there is none of this name."""
    found = value.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


class Errors(Protocol):
    """What both SDKs call their errors."""

    APIError: type[Exception]
    APIStatusError: type[Exception]
    APITimeoutError: type[Exception]
    APIConnectionError: type[Exception]
    APIResponseValidationError: type[Exception]


@contextmanager
def explained(
    sdk: Errors, broken: type[Exception], *, key: SecretStr, base_url: str
) -> Generator[None]:
    """Turn what an SDK raises into our errors, without the key.

    Args:
        sdk: the SDK's module.
        broken: what its HTTP client raises when a connection breaks under a stream.
        key: what no message may have in it.
        base_url: whom messages name.

    Raises:
        Refused: the service answered with an error.
        MalformedMessage: it sent what cannot be read.
        PeerError: it did not answer, or stopped answering.
    """

    def told(failure: Exception) -> str:
        said = " ".join(str(failure).split())
        return said.replace(key.get_secret_value(), "[key]")[:_SAID]

    try:
        yield
    except LapseError:
        raise
    except sdk.APITimeoutError:
        raise PeerError(f"{base_url} did not answer in time") from None
    except (sdk.APIConnectionError, broken) as failure:
        raise PeerError(f"{base_url} does not answer: {told(failure)}") from None
    except sdk.APIResponseValidationError as failure:
        raise MalformedMessage(f"{base_url} sent what cannot be read: {told(failure)}") from None
    except sdk.APIStatusError as failure:
        status = cast("int", cast("Any", failure).status_code)
        if status < _LEAST_ERROR:
            raise PeerError(f"{base_url} broke off its answer: {told(failure)}") from None
        raise Refused(f"{base_url} answered: {told(failure)}", status=status) from None
    except sdk.APIError as failure:
        raise PeerError(f"{base_url} broke off its answer: {told(failure)}") from None
    except (ValueError, TypeError, AttributeError, KeyError) as failure:
        # What the SDKs stumble over when the bytes are not what their types promise.
        raise MalformedMessage(f"{base_url} sent what cannot be read: {told(failure)}") from None


def check_key(key: SecretStr) -> None:
    """Refuse a key that no header can carry, before anything is sent.

    Raises:
        InvalidValue: it is empty or holds line breaks or the like; its value is not repeated.
    """
    value = key.get_secret_value()
    if not value or not value.isascii() or not value.isprintable():
        raise InvalidValue("key", key, "pass the service's key, in printable ASCII")
