# gpt2.onnx on dp=4,tp=2: a plan of dimscope, for torchtitan.
# tensor 2 on tp, data 4 on dp.
# In a function of a config_registry:
#     config.parallelism = PARALLELISM
#     config.training = dataclasses.replace(config.training, **TRAINING)
from torchtitan.config import ParallelismConfig

PARALLELISM = ParallelismConfig(
    data_parallel_replicate_degree=1,
    data_parallel_shard_degree=4,
    fsdp_reshard_after_forward="always",
    tensor_parallel_degree=2,
    enable_sequence_parallel=False,
)
TRAINING = {
    "local_batch_size": 2,
    "global_batch_size": 32,
    "seq_len": 1024,
    "mixed_precision_param": "float32",
}
