#!/usr/bin/env bash
# An API server on a disk of 4 MiB: the disk fills up, and then gets more room. What does the API server answer meanwhile?
#   examples/full-disk.sh build/release/evenkeel
# The disk is a tmpfs in a mount namespace of this script's own, so nothing of it stays. Where that is refused (in a chroot), root
# mounts it for all, and the script unmounts it.
set -euo pipefail
if [ "${2:-}" != inside ]; then
  inside=("$0" "$(realpath "$1")" inside)
  if unshare --map-root-user --mount true 2>/dev/null; then exec unshare --map-root-user --mount "${inside[@]}"; fi
  exec "${inside[@]}"
fi
program=$1
disk=$(mktemp --directory)
data=$(mktemp --directory)
mount -t tmpfs -o size=4m full "$disk"
"$program" apiserver --store "sqlite:$disk/store.db" --port 0 --data-dir "$data" 2>"$data/log" >&2 &
server=$!
trap 'kill "$server"; wait "$server" || true; umount "$disk"; rm -r "$disk" "$data"' EXIT
export KUBECONFIG=$data/kubeconfig
until kubectl get --raw /readyz >"$data/answer" 2>&1; do sleep 0.1; done

head --bytes=300000 /dev/zero | tr '\0' v >"$data/value"
kept=0
until ! kubectl create configmap "map-$kept" --from-file="$data/value" >"$data/answer" 2>&1; do kept=$((kept + 1)); done
echo "full:       $(tail -1 "$data/answer")"
echo "readyz:     $(kubectl get --raw /readyz 2>&1 | tail -1)"
# How many fit depends on what else the API server writes meanwhile.
read=$(kubectl get configmaps --output name | grep --count map-)
echo "reads:      $([ "$read" = "$kept" ] && echo all || echo "$read of $kept") ConfigMaps that were created"
mount -o remount,size=64m "$disk"
until kubectl create configmap after --from-file="$data/value" >"$data/answer" 2>&1; do sleep 0.1; done
echo "more room:  $(tail -1 "$data/answer")"
