"""The result as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["wire_tables"]


def wire_tables(result: Mapping[str, Any]) -> Group:
    """Overhead by form, by number of tables, and what a planner reads."""
    forms = Table(title="Contract bytes in answers, mean; % of body and contract header lines")
    for name in ("stream", "form", "without", "body", "headers", "%", "% one word", "request"):
        forms.add_column(name, justify="left" if name in ("stream", "form") else "right")
    words = result["overhead_pct_by_level_one_word_answers"]
    for stream, found in result["streams"].items():
        for form, numbers in found.items():
            size = numbers["mean_bytes"]
            inside = size["of_that_versions_in_body"] + size["of_that_fixes_in_body"]
            forms.add_row(
                stream,
                form,
                f"{size['without_contract']:.0f}",
                f"{inside:.1f}",
                f"{size['of_that_header_lines']:.1f}",
                f"{numbers['pct_of_payload']:.1f}",
                f"{words[stream][form]:.1f}" if form in words[stream] else "",
                f"{size['request_contract_lines']:.1f}",
            )
    sizes = Table(title="By number of tables, payments")
    for name in ("tables", "full map, bytes", "digest, bytes", "digest, %", "first answer, bytes"):
        sizes.add_column(name, justify="right")
    for size, both in result["by_tables"].items():
        sizes.add_row(
            size,
            f"{both['full_mean_contract_bytes']:.0f}",
            f"{both['digest_mean_contract_bytes']:.1f}",
            f"{both['digest_overhead_pct']:.1f}",
            f"{both['first_answer_contract_bytes']:.0f}",
        )
    carried = Table(title="Other carriers, payments: contract bytes per answer")
    for name in ("form", "HTTP/2 header block", "MCP result", "tokens in MCP texts"):
        carried.add_column(name, justify="left" if name == "form" else "right")
    for form, framed in result["http2"].items():
        in_mcp = result["mcp"][form]
        carried.add_row(
            form,
            f"{framed['mean_bytes']['of_that_contract']:.1f}",
            f"{in_mcp['mean_bytes']['contract']:.1f}",
            str(in_mcp["tokens_of_contract_in_texts"]),
        )
    told = result["planner_tokens_from_contract_fields"]
    words_ = Text(f"Tokens of contract fields in what planners read, with digests: {told}")
    return Group(forms, sizes, carried, words_)
