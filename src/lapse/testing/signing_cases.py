"""What every pair of signer and verifier has to do, as cases that any test runner can run."""

from __future__ import annotations

from collections.abc import Callable

from lapse.ledger import Signer, Verifier
from lapse.testing.promises import holds

__all__ = ["SIGNING_CASES"]

MESSAGES = (b"", b"\0", b"message", b"m" * 100_000)


def what_was_signed_verifies(signer: Signer, verifier: Verifier) -> None:
    """The verifier knows the signer's key, whatever the message."""
    holds(signer.key, "a key has an id")
    for message in MESSAGES:
        signature = signer.sign(message)
        holds(verifier.verify(signer.key, message, signature), "a signature verifies")


def anything_else_does_not(signer: Signer, verifier: Verifier) -> None:
    """Another message, key or signature is refused, never an error."""
    signature = signer.sign(b"message")
    flipped = [
        signature[:place] + bytes([signature[place] ^ 1]) + signature[place + 1 :]
        for place in range(len(signature))
    ]
    for wrong in (*flipped, b"", signature[:-1], signature + b"\0", b"\0" * len(signature)):
        holds(not verifier.verify(signer.key, b"message", wrong), "another signature is refused")
    for message in (b"", b"messagf", b"message\0"):
        holds(not verifier.verify(signer.key, message, signature), "another message is refused")
    for key in ("", "nobody", f"{signer.key} "):
        holds(not verifier.verify(key, b"message", signature), "an unknown key is refused")


SIGNING_CASES: tuple[Callable[[Signer, Verifier], None], ...] = (
    what_was_signed_verifies,
    anything_else_does_not,
)
"""Every case; the verifier has to know the signer's key and none called ``nobody``."""
