"""Twilio's public API documents, 2020 to 2026, behind a gateway that was told of each change.

python examples/gateway_history.py                 a slice: 4 services, a few seconds
python examples/gateway_history.py --all           every service: some minutes
python examples/gateway_history.py --cost          also what the gateway and its metrics cost

A local service validates requests against the rows of a date. The gateway knows the document of the
same date and nothing else. Three agents send the same requests at the same moments: one straight to
the service, one through the gateway, one through the gateway with a memory.
"""

import argparse
from collections import Counter
from pathlib import Path

from lapse_bench.gateway import gateway_result, run_gateway
from lapse_bench.gateway.cost import measure_cost
from lapse_bench.traces import fewer, find, read

SLICE = {"tables": 4, "episodes": 50}
ALL = {"tables": 120, "episodes": 1_500}


def main() -> None:
    """Replay, and say what came out."""
    parser = argparse.ArgumentParser(description="A real API's history behind a gateway.")
    parser.add_argument("--all", action="store_true", help="every service")
    parser.add_argument("--cost", action="store_true", help="also measure what it costs")
    asked = parser.parse_args()
    size = ALL if asked.all else SLICE

    found = find("twilio", start=Path(__file__).resolve().parent)
    history = fewer(read(found.path, name=found.name), tables=size["tables"])
    replayed = run_gateway(history, episodes=size["episodes"], seed=0)
    result = gateway_result(history, replayed, config=size)

    print(f"{result['trace']['tables']} services, {result['trace']['events']} changes of rows:")
    print(f"  {result['reloads']} reloads, of which {result['reloads_inexact']} had another diff")
    for name, scores in result["arms"].items():
        print(
            f"  {name}: {scores['attempts']} requests for {scores['episodes']} tasks, "
            f"{scores['retries']} retries, {scores['looked_up']} values looked up in documents"
        )
    kinds = Counter[str]()
    for fault in result["faults"]:
        kinds[f"{fault['kind']}, {fault['cure']}"] += fault["count"]
    print(f"{result['faults_cured']} of {result['faults_found']} faults have a cure in a document:")
    for kind, count in kinds.most_common():
        print(f"  {count} {kind}")
    if asked.cost:
        for name, ratio in measure_cost().items():
            print(f"{name}: {ratio}")


if __name__ == "__main__":
    main()
