#!/bin/bash
# Records the environments of tasks that mpirun, mpiexec and srun start, as root on Debian 12 with
# slurmctld, slurmd, slurm-client, munge, openmpi-bin, hydra and libpmix2: record.sh > recorded.env
#
# Slurm runs on this machine with three nodes of four CPUs: its daemons have the host names n1, n2
# and n3 in UTS namespaces, and different ports. The output has a section for each task: a line
# "== NAME RANK" and the variables that tell of a launcher, without addresses, paths and keys.
set -uo pipefail
tmp=$(mktemp -d)
chmod 755 "$tmp"
export SLURM_CONF=$tmp/slurm.conf
mkdir -p "$tmp"/{state,spool/n1,spool/n2,spool/n3,log,munge,env}

# Slurm's PMIx plugin opens libpmix.so, which only libpmix-dev has.
libpmix=/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so link=
[ -e $libpmix ] || { ln -s libpmix.so.2 $libpmix && link=$libpmix; }

cleanup() {
  for pid in "$tmp"/*.pid "$tmp"/munge/pid; do kill "$(cat "$pid")"; done
  [ -z "$link" ] || rm "$link"
  sleep 2
  rm -rf "$tmp"
}
trap cleanup EXIT

cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
AuthInfo=socket=$tmp/munge/socket
SlurmUser=root
SlurmctldPort=36817
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.%n.pid
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool/%n
SlurmctldLogFile=$tmp/log/slurmctld
SlurmdLogFile=$tmp/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
LaunchParameters=use_interactive_step
NodeName=n1 NodeHostname=n1 NodeAddr=127.0.0.1 Port=36821 CPUs=4
NodeName=n2 NodeHostname=n2 NodeAddr=127.0.0.1 Port=36822 CPUs=4
NodeName=n3 NodeHostname=n3 NodeAddr=127.0.0.1 Port=36823 CPUs=4
PartitionName=p Nodes=n1,n2,n3 Default=YES
CONF

# dump NAME RANK: what a task does
cat >"$tmp/dump" <<DUMP
#!/bin/sh
{
  echo "== \$1 \$2"
  env | grep -E '^(SLURM|PMI|PMIX|MPI|OMPI|HYD)[A-Z0-9_]*=' | grep -vE 'URI|PATH|TMPDIR|DIR=|PORT|HOST=|CONF|PID|_FD=|ADDR|UID|GID|USER|CLUSTER|CPU|COMMAND|ARGV|MCA|LOCATION|transports|BFROP|GDS|SECURITY' | sort
} >$tmp/env/\$1.\$2
DUMP
chmod +x "$tmp/dump"
cat >"$tmp/srun-dump" <<DUMP
#!/bin/sh
$tmp/dump "\$1" "\$SLURM_PROCID"
DUMP
cat >"$tmp/ompi-dump" <<DUMP
#!/bin/sh
$tmp/dump "\$1" "\$OMPI_COMM_WORLD_RANK"
DUMP
cat >"$tmp/hydra-dump" <<DUMP
#!/bin/sh
$tmp/dump "\$1" "\$PMI_RANK"
DUMP
chmod +x "$tmp"/*-dump

dd if=/dev/urandom of="$tmp/munge/key" bs=128 count=1 2>/dev/null
chmod 600 "$tmp/munge/key"
munged --force --key-file="$tmp/munge/key" --socket="$tmp/munge/socket" --pid-file="$tmp/munge/pid" \
  --log-file="$tmp/munge/log" --seed-file="$tmp/munge/seed" 2>/dev/null
slurmctld >/dev/null 2>&1 </dev/null
for i in 1 2 3; do unshare -u sh -c "hostname n$i; exec slurmd" >/dev/null 2>&1 </dev/null; done
for _ in $(seq 60); do
  [ "$(sinfo -h -t idle -o %D)" != 3 ] || break
  sleep 1
done

limit="timeout 60"
# Without Slurm
$limit mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 "$tmp/ompi-dump" mpirun
$limit mpiexec.hydra -localhost 127.0.0.1 -n 4 "$tmp/hydra-dump" mpiexec
# Steps: three nodes with five tasks, in the ways of MPI; other distributions; a heterogeneous one
$limit srun -N3 -n5 "$tmp/srun-dump" srun
$limit srun -N3 -n5 --mpi=pmi2 "$tmp/srun-dump" srun-pmi2
$limit srun -N1 -n3 --mpi=pmix "$tmp/srun-dump" srun-pmix
$limit srun -N2 -n6 --distribution=cyclic "$tmp/srun-dump" srun-cyclic
printf '%s\n' n3 n1 n1 n2 >"$tmp/hostfile"
SLURM_HOSTFILE=$tmp/hostfile $limit srun -n4 --distribution=arbitrary "$tmp/srun-dump" srun-arbitrary
SLURM_HOSTFILE=$tmp/hostfile $limit srun -n4 "$tmp/srun-dump" srun-hostfile
$limit srun -N1 -n2 "$tmp/srun-dump" srun-het : -N2 -n3 "$tmp/srun-dump" srun-het
$limit script -qc "srun -n1 --pty $tmp/srun-dump srun-pty" /dev/null
# A batch script, and what it starts
cat >"$tmp/batch" <<BATCH
#!/bin/sh
$tmp/srun-dump batch
srun $tmp/srun-dump batch-srun
srun -N2 -n3 $tmp/srun-dump batch-srun-part
mpirun.openmpi --allow-run-as-root $tmp/ompi-dump batch-mpirun
mpiexec.hydra -localhost 127.0.0.1 -n 5 $tmp/hydra-dump batch-mpiexec
srun -N2 -n2 --overlap sh -c '[ \$SLURM_PROCID != 1 ] || mpiexec.hydra -launcher fork -rmk user -hosts localhost -n 2 $tmp/hydra-dump batch-srun-mpiexec'
BATCH
timeout 120 sbatch -W -N3 -n5 -o "$tmp/log/batch" "$tmp/batch"
# Shells of allocations: here, and on a node as an interactive step
$limit salloc -N2 -n3 "$tmp/dump" salloc 0
(
  sleep 3
  echo "$tmp/dump salloc-interactive 0"
  sleep 3
  echo exit
) | $limit script -qc "salloc -N2 -n3" /dev/null >&2

echo "# $(slurmctld -V), $(mpirun.openmpi --version | head -1), Hydra $(mpiexec.hydra --version | awk '/Version:/ {print $2}'), PMIx $(dpkg-query -W -f '${Version}' libpmix2); recorded by record.sh"
for f in $(ls -v "$tmp"/env/*); do cat "$f"; done
cat "$tmp/log/batch" >&2
