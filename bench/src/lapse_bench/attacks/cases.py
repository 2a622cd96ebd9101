"""The attacks: by somebody on the way, by the service itself, and what nobody can stop."""

from lapse_bench.attacks.merging import MERGING
from lapse_bench.attacks.on_the_way import ON_THE_WAY
from lapse_bench.attacks.the_service import THE_SERVICE

__all__ = ["CASES"]

CASES = (*ON_THE_WAY, *THE_SERVICE, *MERGING)
