#!/bin/bash
# First process of rdmakit's kernel guest. Names between @ are filled in by
# recipe.go. Every step must succeed: a guest without its devices is no guest,
# so the first failure is shown on the console and ends the machine.
set -eE
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8

fail() {
  trap - ERR
  set +e
  echo "rdmakit-init: failed in line $1: $2"
  dmesg | tail -n 15
  sleep 0.5 # lets the console drain
  echo b >/proc/sysrq-trigger
  sleep 60
}
trap 'fail "$LINENO" "$BASH_COMMAND"' ERR

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup /sys/fs/cgroup
ln -sf /proc/self/fd /dev/fd
hostname @HOSTNAME@
ulimit -l unlimited

modprobe -a @MODULES@
mount -t configfs none /sys/kernel/config

# Addresses are usable, and in the GID table, at once.
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
for dev in eth0 eth1; do echo 0 >/proc/sys/net/ipv6/conf/$dev/accept_dad; done
ip link set lo up
ip addr add @ADDRESS0@/24 dev eth0
ip addr add @ADDRESS1@/24 dev eth1
ip link set eth0 up
ip link set eth1 up
rdma link add rxe0 type rxe netdev eth0
rdma link add siw0 type siw netdev eth1

trap - ERR
set +e
echo "rdmakit-init: ready after $(cut -d' ' -f1 /proc/uptime) s"
while :; do
  /usr/local/sbin/guestd -cgroup /sys/fs/cgroup
  echo "rdmakit-init: guestd ended with status $?"
  sleep 1
done
