"""Worlds: what a service accepts, as pure functions of its rows, each under a versioned name.

=====================  =====================================================================
`acme-billing-v1`      five policies over six tables: the payments stream
`api-constraints-v1`   a request must satisfy the constraint rows of its operation
`current-release-v1`   a request must name the current release of a product's cycle
=====================  =====================================================================

The same rows, request and name give the same answer for ever; a change of rules gets another name.
"""

from lapse_bench.worlds.constraints import ApiConstraints
from lapse_bench.worlds.organic import Objection, OrganicWorld, world_of
from lapse_bench.worlds.releases import CurrentRelease

__all__ = ["ApiConstraints", "CurrentRelease", "Objection", "OrganicWorld", "world_of"]
