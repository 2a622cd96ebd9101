"""Standard input, line by line, until it ends or is stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from lapse.transports.mcp_proxy.lines import Lines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for end in (reading, writing):
        try:
            os.close(end)
        except OSError:
            continue


async def test_lines_come_whole_whatever_the_pieces_were(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = Lines(reading)
    with anyio.fail_after(30):
        os.write(writing, b"on")
        os.write(writing, b"e\ntwo\n\nthr")
        assert [await anext(lines), await anext(lines), await anext(lines)] == ["one", "two", ""]
        os.write(writing, b"ee\xff\xff")
        os.close(writing)
        assert [line async for line in lines] == ["three\ufffd\ufffd"]


async def test_a_long_line_is_one_line(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    long = b"x" * 1_000_000

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(long + b"\nlast")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, write)
            assert [line async for line in Lines(reading)] == [long.decode(), "last"]


async def test_stopping_ends_a_wait_and_what_was_read_is_still_given(
    pipe: tuple[int, int],
) -> None:
    reading, writing = pipe
    os.write(writing, b"one\ntwo\n")
    lines = Lines(reading)
    seen: list[str] = []

    async def read() -> None:
        seen.extend([line async for line in lines])

    with anyio.fail_after(30):
        assert await anext(lines) == "one"
        lines.stop()
        await read()
        assert seen == ["two"]
        waiting = Lines(reading)
        async with anyio.create_task_group() as tasks:
            lines = waiting
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            waiting.stop()
    assert seen == ["two"]


async def test_a_plain_file_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_text("one\ntwo")
    descriptor = os.open(file, os.O_RDONLY)
    try:
        with anyio.fail_after(30):
            assert [line async for line in Lines(descriptor)] == ["one", "two"]
    finally:
        os.close(descriptor)
