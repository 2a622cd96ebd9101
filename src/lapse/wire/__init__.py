"""What crosses a boundary: read tolerantly, written exactly.

::

    reading = read_response(response.headers.raw, response.content)   # never raises
    reading.envelope.table_versions
    reading.refusals                                                  # what was left out, and why

    body = write_problem(Problem(type="…", title="…", status=422, detail="…"), envelope)
"""

from lapse.wire import models
from lapse.wire.fields import (
    FIELD_BYTES,
    LOCATION,
    RULES,
    VERSIONS,
    contract_fields,
    versions_field,
)
from lapse.wire.limits import DEFAULT_LIMITS, Limits, Reason, Refusal
from lapse.wire.parsing import write
from lapse.wire.reading import (
    Reading,
    ReloadRequest,
    read_changes,
    read_reload_request,
    read_response,
)
from lapse.wire.schemas import schemas
from lapse.wire.stamps import STAMP, http_stamp, read_http_stamp
from lapse.wire.stamps_objects import (
    SignedAnswer,
    object_stamp,
    read_object_stamp,
    read_signed_answer,
    signed_answer,
)
from lapse.wire.stamps_parts import Signed, StampSigner
from lapse.wire.transfer import read_export, write_export
from lapse.wire.writing import (
    JSON,
    PROBLEM_JSON,
    Problem,
    changes_members,
    envelope_members,
    graph_members,
    preferred_type,
    problem_document,
    problem_members,
    reload_members,
    suggestion_members,
    write_changes,
    write_envelope,
    write_problem,
)

__all__ = [
    "DEFAULT_LIMITS",
    "FIELD_BYTES",
    "JSON",
    "LOCATION",
    "PROBLEM_JSON",
    "RULES",
    "STAMP",
    "VERSIONS",
    "Limits",
    "Problem",
    "Reading",
    "Reason",
    "Refusal",
    "ReloadRequest",
    "Signed",
    "SignedAnswer",
    "StampSigner",
    "changes_members",
    "contract_fields",
    "envelope_members",
    "graph_members",
    "http_stamp",
    "models",
    "object_stamp",
    "preferred_type",
    "problem_document",
    "problem_members",
    "read_changes",
    "read_export",
    "read_http_stamp",
    "read_object_stamp",
    "read_reload_request",
    "read_response",
    "read_signed_answer",
    "reload_members",
    "schemas",
    "signed_answer",
    "suggestion_members",
    "versions_field",
    "write",
    "write_changes",
    "write_envelope",
    "write_export",
    "write_problem",
]
