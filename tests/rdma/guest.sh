#!/bin/busybox sh
# guest.sh - the first process of the laboratory: the files of the host, two hosts on one cable, then the job.
# SPDX-License-Identifier: Apache-2.0
# Started twice: as /init of the first files, and again with the files of the host as root.
end() {
    echo "rdma-lab-status $1"
    "$bb" sync
    "$bb" sleep 1
    "$bb" reboot -f
}
try() { "$@" || { echo "laboratory: $* failed"; end 125; }; }

if [ ! -e /run/rdma-lab ]; then
    bb=/bin/busybox
    for name in dev:devtmpfs proc:proc sys:sysfs; do $bb mount -t "${name#*:}" "${name#*:}" "/${name%:*}"; done
    exec >/dev/ttyS0 2>&1 </dev/null
    for module in virtio_pci 9p 9pnet_virtio overlay; do $bb modprobe $module; done
    try $bb mount -t 9p -o ro,cache=loose,trans=virtio,version=9p2000.L,msize=512000 hostroot /lower
    try $bb mount -t tmpfs -o size=80% rw /rw
    $bb mkdir /rw/upper /rw/work
    try $bb mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /new
    try $bb mount -t tmpfs run /new/run
    $bb mkdir -p /new/run/rdma-lab /new/lib/modules /dev/shm /dev/pts
    $bb grep -qx keep_tmp=1 /job.sh || $bb mount -t tmpfs -o mode=1777 tmp /new/tmp
    $bb mount -t tmpfs -o mode=1777 shm /dev/shm
    $bb mount -t devpts -o ptmxmode=666 pts /dev/pts
    $bb mount -t tmpfs modules /new/lib/modules
    $bb cp -a /lib/modules/. /new/lib/modules/
    $bb cp /bin/busybox /job.sh /init /new/run/rdma-lab/
    for name in dev proc sys; do $bb mount --move /$name /new/$name; done
    exec $bb switch_root /new /bin/bash /run/rdma-lab/init
fi

bb=/run/rdma-lab/busybox
PATH=/usr/sbin:/usr/bin:/sbin:/bin
. /run/rdma-lab/job.sh
PATH=$PATH:/usr/sbin:/sbin
ulimit -l unlimited
ulimit -c 0
$bb hostname rdma-lab
ip link set lo up
for module in crc32_generic rdma_rxe ib_uverbs rdma_ucm veth; do $bb modprobe $module; done
try ip link add rdma1 address 02:88:00:00:00:01 mtu "$mtu" type veth peer name rdma2 address 02:88:00:00:00:02 mtu "$mtu"
sysctl() { echo "$2" >"/proc/sys/net/ipv4/conf/$1"; }
sysctl all/rp_filter 0
for n in 1 2; do
    sysctl rdma$n/rp_filter 0
    sysctl rdma$n/accept_local 1
    sysctl rdma$n/arp_ignore 1
    sysctl rdma$n/arp_announce 2
    try ip link set rdma$n multicast on up
    try ip addr add 10.88.0.$n/24 brd + dev rdma$n noprefixroute
done
# Packets from one local address to the other leave by its interface and come in by the other's.
try ip -batch - <<'ROUTES'
route add 10.88.0.2/32 dev rdma1 src 10.88.0.1 table 1001
route add 10.88.0.1/32 dev rdma2 src 10.88.0.2 table 1002
rule add pref 1 iif rdma1 lookup local
rule add pref 2 iif rdma2 lookup local
rule add pref 3 from 10.88.0.1 to 10.88.0.1 lookup local
rule add pref 4 from 10.88.0.2 to 10.88.0.2 lookup local
rule add pref 5 to 10.88.0.2 lookup 1001
rule add pref 6 to 10.88.0.1 lookup 1002
rule add pref 100 lookup local
rule del pref 0
neigh replace 10.88.0.2 lladdr 02:88:00:00:00:02 dev rdma1 nud permanent
neigh replace 10.88.0.1 lladdr 02:88:00:00:00:01 dev rdma2 nud permanent
route add 10.88.0.0/24 dev rdma1 src 10.88.0.1
route add 224.0.0.0/4 dev rdma1 src 10.88.0.1
ROUTES
if [ -n "$netem" ]; then
    $bb modprobe sch_netem
    # shellcheck disable=SC2086
    for n in 1 2; do try tc qdisc add dev rdma$n root netem $netem; done
fi
for n in 1 2; do try rdma link add rxe$n type rxe netdev rdma$n; done
i=0
while [ ! -c /dev/infiniband/rdma_cm ] && [ $i -lt 200 ]; do
    $bb sleep 0.1
    i=$((i + 1))
done
job </dev/null
end $?
