#!/usr/bin/env bash
# Builds the page and writes it as C++: FOLDER/page_assets_data.cc. Only what changed is done again: npm is called where
# package-lock.json is another one, Vite where any source is. All presets share one folder, so whoever builds first does it for all.
#
#   src/dashboard/page/build.sh FOLDER
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
exec 9>lock
flock 9
for tool in node npm; do
  command -v "$tool" >/dev/null || { echo "$0: $tool is missing: tools/setup build installs it" >&2; exit 1; }
done
inputs=(.npmrc package.json package-lock.json build.sh embed.mjs index.html report.html tsconfig.json vite.config.ts src)
digest() { (cd "$source" && find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum); }
quietly() { "$@" >log 2>&1 || { cat log >&2; echo "$source/build.sh: failed: $*" >&2; exit 1; }; }

[ "$(cat built 2>/dev/null)" != "$(digest "${inputs[@]}")" ] || [ ! -f page_assets_data.cc ] || exit 0
mkdir -p work
find work -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
for input in "${inputs[@]}"; do cp -r "$source/$input" work/; done
if [ "$(cat installed 2>/dev/null)" != "$(digest .npmrc package-lock.json)" ]; then
  rm -f installed
  # The scripts of packages are not run: nothing here needs one.
  (cd work && quietly npm ci --ignore-scripts --no-audit --no-fund)
  digest .npmrc package-lock.json >installed
fi
(cd work && quietly npm run build)
node work/embed.mjs work/dist page_assets_data.cc
digest "${inputs[@]}" >built
