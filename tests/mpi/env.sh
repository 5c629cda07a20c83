# env.sh - sourced: Open MPI of any release starts more ranks than there are cores, by root too, and
# $quiet keeps it from saying what a rank has said, where it has an option for that.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
quiet=
case $(mpirun --version) in *"(Open MPI) 4."*) quiet=-quiet ;; esac
