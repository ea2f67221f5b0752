#!/usr/bin/env bash
# deps.sh [RING...]: make sure that the programs which the test rings need are installed.
#
# Checks for each program first and installs only what is missing, as root on a system with apt.
# Otherwise it prints what is missing and the command to run, and fails. Without a RING it checks
# all rings.
set -euo pipefail

# ring, Debian package, and a program of the package, or a file of it if it begins with /. systemd
# is needed for its parser of EnvironmentFile=, in libsystemd-shared; it need not run.
table() {
  cat <<'EOF'
test   bash            bash
test   busybox         busybox
test   csh             csh
test   dash            dash
test   ethtool         ethtool
test   fish            fish
test   gcc             gcc
test   libc6-dev       /usr/include/stdlib.h
test   git             git
test   ibsim-utils     ibsim
test   infiniband-diags ibnetdiscover
test   iproute2        ip
test   iproute2        rdma
test   jq              jq
test   libibverbs-dev  /usr/include/infiniband/verbs.h
test   librdmacm-dev   /usr/include/rdma/rdma_cma.h
test   libumad2sim0    /usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so
test   linux-libc-dev  /usr/include/rdma/rdma_netlink.h
test   iptables        iptables-nft
test   munge           munged
test   mpich           mpiexec.hydra
test   mksh            mksh
test   nftables        nft
test   openssh-client  ssh
test   openssh-server  sshd
test   opensm          opensm
test   pciutils        lspci
test   systemd         systemctl
test   tcsh            tcsh
test   util-linux      unshare
test   zsh             zsh
kernel bash            bash
kernel binutils        strip
kernel cpio            cpio
kernel debootstrap     debootstrap
kernel gcc             gcc
kernel infiniband-diags ibstatus
kernel iproute2        ip
kernel kmod            depmod
kernel make            make
kernel qemu-system-x86 qemu-system-x86_64
kernel tcpdump         tcpdump
kernel tshark          tshark
kernel xz-utils        xz
cluster ethtool        ethtool
cluster iproute2       ip
cluster iproute2       tc
cluster iptables       iptables
cluster munge          munged
cluster nftables       nft
cluster openssh-client ssh
cluster openssh-client ssh-keygen
cluster openssh-server /usr/sbin/sshd
cluster slurm-client   srun
cluster slurmctld      slurmctld
cluster slurmd         slurmd
lint   git             git
cross  qemu-user       qemu-aarch64
cross  libc6-arm64-cross /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1
bench  bash            bash
bench  grep            grep
bench  ibsim-utils     ibsim
bench  infiniband-diags ibnetdiscover
bench  iperf3          iperf3
bench  libumad2sim0    /usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so
bench  opensm          opensm
bench  ucx-utils       ucx_perftest
EOF
}

present() {
  case $1 in
    /*) [ -e "$1" ] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# missing RING...: the missing packages, without duplicates
missing() {
  table | while read -r ring package proof; do
    case " $* " in *" $ring "*) present "$proof" || echo "$package" ;; esac
  done | sort -u
}

PATH=$PATH:/usr/sbin:/sbin # for depmod and debootstrap, if a user runs this
rings=("$@")
[ $# -gt 0 ] || mapfile -t rings < <(table | cut -d' ' -f1 | sort -u)
for ring in "${rings[@]}"; do
  table | cut -d' ' -f1 | grep -qx "$ring" || { echo "deps: unknown ring '$ring'" >&2; exit 2; }
done
mapfile -t packages < <(missing "${rings[@]}")
[ ${#packages[@]} -gt 0 ] || exit 0

echo "deps: missing for ${rings[*]}: ${packages[*]}" >&2
if ! command -v apt-get >/dev/null; then
  echo "deps: this system has no apt; install the packages with these programs (the names are Debian's)" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "deps: run: sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)
# Servers are installed for tests, which start them on their own: none may start now.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
fi
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${packages[@]}" >/dev/null
hash -r
mapfile -t packages < <(missing "${rings[@]}")
[ ${#packages[@]} -eq 0 ] || { echo "deps: still missing after the installation: ${packages[*]}" >&2; exit 1; }
