#!/bin/bash
# The init script of KServe's inference pods, reimplemented from a description of its behaviour: the
# baseline of `make bench`, and the reference for package launch. It makes the same decisions and
# the same errors, and starts the same number of processes (one grep for each GID).
#
#   kserve.sh ROOT      the environment holds KSERVE_INFER_ROCE and the user's values
#
# Progress goes to standard output, as in the original; the result goes to file descriptor 3 if it
# is open: NAME=VALUE, each ended by a NUL byte.

class=$1/sys/class/infiniband

if [ "$KSERVE_INFER_ROCE" = "true" ]; then
  grep -H . "$class"/*/ports/*/gids/* 2>/dev/null
  grep -H . "$class"/*/ports/*/gid_attrs/types/* 2>/dev/null
  cat "$1/proc/driver/nvidia/params"

  wanted=${KSERVE_INFER_IB_GID_INDEX_GREP:-"RoCE v2"}
  devices=()
  for dir in "$class"/mlx5_*; do
    [ -d "$dir" ] || continue
    device=$(basename "$dir")
    types="$dir/ports/1/gid_attrs/types/*"
    # The missing quotes around $types are part of the behaviour.
    if [ -f "$dir/ports/1/state" ] && grep -q "ACTIVE" "$dir/ports/1/state" &&
      grep -q "$wanted" $types 2>/dev/null; then
      echo "active: $device"
      devices+=("$device")
    else
      echo "skipped: $device"
    fi
  done

  if [ ${#devices[@]} -gt 0 ]; then
    names=$(IFS=,; echo "${devices[*]}")
    ports=$(IFS=,; echo "${devices[*]/%/:1}")
    export NCCL_IB_HCA=${NCCL_IB_HCA:-$names}
    export NVSHMEM_HCA_LIST=${NVSHMEM_HCA_LIST:-$ports}
    export UCX_NET_DEVICES=${UCX_NET_DEVICES:-$ports}

    declare -A seen
    for device in "${devices[@]}"; do
      for entry in "$class"/${device}/ports/1/gid_attrs/types/*; do
        if grep -q "$wanted" "$entry" 2>/dev/null; then
          index=$(basename "$entry")
          gid="$class/$device/ports/1/gids/$index"
          if [ -f "$gid" ] && grep -q "ffff:" "$gid"; then
            echo "$device: index $index, $(cat "$gid" 2>/dev/null || echo "")"
            seen["$index"]=$((${seen["$index"]} + 1))
            break
          fi
        fi
      done
    done

    best="" most=0
    for index in "${!seen[@]}"; do
      if [ ${seen["$index"]} -gt $most ]; then
        most=${seen["$index"]}
        best=$index
      fi
    done
    if [ ${#seen[@]} -gt 1 ] && [ -n "${seen[3]}" ] && [ "${seen[3]}" -eq "$most" ]; then
      best=3
    fi

    if [ -n "$NCCL_IB_GID_INDEX" ]; then
      best=$NCCL_IB_GID_INDEX
    fi
    if [ -n "$best" ]; then
      export NCCL_IB_GID_INDEX=${NCCL_IB_GID_INDEX:-$best}
      export NVSHMEM_IB_GID_INDEX=${NVSHMEM_IB_GID_INDEX:-$best}
      export UCX_IB_GID_INDEX=${UCX_IB_GID_INDEX:-$best}
    else
      echo "ERROR: no index"
    fi
  fi
fi

if { : >&3; } 2>/dev/null; then
  for name in NCCL_IB_HCA NVSHMEM_HCA_LIST UCX_NET_DEVICES \
    NCCL_IB_GID_INDEX NVSHMEM_IB_GID_INDEX UCX_IB_GID_INDEX; do
    [ -z "${!name}" ] || printf '%s=%s\0' "$name" "${!name}" >&3
  done
fi
