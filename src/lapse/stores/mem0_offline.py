"""A Mem0 memory that needs no network and no key: vectors in a folder, an embedder of one's own.

With ``infer=False``, Mem0 asks no model to write; all that it needs is an embedder. The function
that makes vectors is handed in, so that any packaged one will do.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUntypedBaseClass=false
# Mem0 carries no types.

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lapse.errors import InvalidValue, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem0 import Memory

__all__ = ["Embed", "offline_memory"]


class Embed(Protocol):
    """Makes a vector of each text, shape (texts, dimensions), as an array or as lists."""

    def __call__(self, texts: Sequence[str], /) -> Any:
        """The vectors."""
        ...


def offline_memory(folder: str | Path, embed: Embed, *, collection: str = "memories") -> Memory:
    """Open a Mem0 memory in a folder, which nothing leaves.

    Args:
        folder: where vectors and history are kept; made where there is none. One process at a time.
        embed: makes the vectors; always the same one for a folder.
        collection: the name of the collection of vectors.

    Raises:
        MissingExtra: Mem0 is not installed.
        InvalidValue: Mem0 would send telemetry: it reads ``MEM0_TELEMETRY`` when it is imported.
    """
    try:
        from mem0 import Memory  # noqa: PLC0415 - takes seconds, and only who asks pays for it
        from mem0.embeddings.base import EmbeddingBase  # noqa: PLC0415
        from mem0.memory import telemetry  # noqa: PLC0415
    except ImportError as missing:
        raise MissingExtra("the guard for Mem0", "mem0") from missing
    if telemetry.MEM0_TELEMETRY:
        remedy = "set it to False in the environment before the program starts"
        raise InvalidValue("MEM0_TELEMETRY", telemetry.MEM0_TELEMETRY, remedy)

    class Embedder(EmbeddingBase):
        def embed(self, text: Any, memory_action: Any = None) -> Any:  # theirs says: None
            del memory_action  # the same vector, whatever it is for
            (vector,) = embed([text])
            return [float(number) for number in vector]

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (example,) = embed(["any text"])
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "path": str(place / "vectors"),
                    "on_disk": True,
                    "embedding_model_dims": len(example),
                    "collection_name": collection,
                },
            },
            # Clients that are never called: Mem0 wants them named, and opens no connection.
            "embedder": {"provider": "lmstudio", "config": {"model": "unused"}},
            "llm": {"provider": "lmstudio", "config": {"model": "unused"}},
            "history_db_path": str(place / "history.db"),
        }
    )
    memory.embedding_model = Embedder()
    return memory
