"""Settings that dimscope writes for torchtitan, in torchtitan.

    part_torchtitan.py WHAT PLAN.py
"""

import dataclasses
import runpy
import sys

from torchtitan.config import TrainingConfig
from torchtitan.distributed import ParallelDims


def main():
    what, path = sys.argv[1:]
    plan = runpy.run_path(path)
    parallelism = plan["PARALLELISM"]
    training = dataclasses.replace(TrainingConfig(), **plan["TRAINING"])
    dims = ParallelDims.from_config(parallelism, 8)  # refuses degrees that do not multiply to it
    parts = parallelism.module_fqns_per_model_part
    ok = dims.world_size == 8 and training.global_batch_size % training.local_batch_size == 0
    ok = ok and (parts is None) == (parallelism.pipeline_parallel_degree == 1)
    print(f"ok {what}" if ok else f"not ok {what}: {parallelism} {training}")


main()
