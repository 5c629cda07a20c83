#!/bin/bash
# two_hosts.sh - COMMAND under mpirun on two hosts with N/2 ranks each: `two_hosts.sh N COMMAND..`.
#
# The hosts are two network namespaces with names and addresses of their own, joined by a virtual
# cable. No file system, process or memory tells them from real ones but the cable: so ranks of
# different hosts reach each other by TCP alone, and each host has its own daemon of Open MPI. The
# last line on stderr is how many bytes went over the cable. Without the right to make namespaces
# it ends with 77.
if [ "$1" != inside ]; then
    unshare --user --map-root-user --net --uts true 2>/dev/null || exit 77
    exec unshare --user --map-root-user --net --uts "$0" inside "$@"
fi
shift
n=$1
shift
net=10.77.0
scratch=$(mktemp -d) || exit 1
. "$(dirname "$0")/env.sh"
unshare --net --uts sleep 300 &
other=$!
trap 'kill $other; rm -rf "$scratch"' EXIT

hostname host-a && ip link set lo up
# The other host is there once it has left this one's namespace.
while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/self/ns/net)" ] ||
    [ "$(readlink /proc/$other/ns/uts)" = "$(readlink /proc/self/ns/uts)" ]; do
    kill -0 $other 2>/dev/null || exit 77
    sleep 0.02
done
ip link add cable type veth peer name cable netns $other 2>/dev/null || exit 77
ip addr add $net.1/24 dev cable && ip link set cable up
nsenter --target $other --net --uts sh -c \
    "hostname host-b; ip link set lo up; ip addr add $net.2/24 dev cable; ip link set cable up"

# What mpirun takes for ssh.
printf '#!/bin/sh\nshift\nexec nsenter --target %s --net --uts sh -c "$*"\n' $other >"$scratch/agent"
chmod +x "$scratch/agent"
mpirun $quiet --host "$net.1:$((n / 2)),$net.2:$((n / 2))" --mca plm_rsh_agent "$scratch/agent" \
    --mca mpi_yield_when_idle 1 --mca btl self,tcp --mca oob_tcp_if_include "$net.0/24" \
    --mca btl_tcp_if_include "$net.0/24" -n "$n" "$@"
code=$?
ip -s link show cable | awk "/RX:/ {getline; print \$1}" >&2
exit $code
