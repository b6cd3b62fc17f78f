#include "controllers/rollout/zookeeper/member/server_script.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

// What ZooKeeper itself writes into zoo.cfg is the name of the file with the members that were agreed on last, which ends in
// their version. The path before it is of the pod that wrote it.
constexpr char kScript[] = R"(root=${EVENKEEL_POD_ROOT:-}
given="$root$config_path"
data="$root$data_path"
ordinal=${POD_NAME##*-}
id=$((offset + ordinal - first + 1))

line=$(sed -n "s/^server\.$id=.*;//p" "$given/zoo.cfg.dynamic")
port=${line##*:}
host=${line%"$port"}
host=${host%:}
case $host in ''|0.0.0.0|'[::]') host=127.0.0.1 ;; esac

ask() {
  exec 3<>"/dev/tcp/$host/$port" || exit 1
  printf '%s' "$1" >&3
  grep -q "$2" <&3
}

case ${1:-} in
  ready) ask srvr '^Mode: ' ;;
  alive) ask ruok '^imok' ;;
  start)
    conf="$data/conf"
    mkdir -p "$conf"
    printf '%s\n' "$id" > "$data/myid"
    kept=$(sed -n 's/^dynamicConfigFile=.*\///p' "$conf/zoo.cfg" 2>/dev/null || true)
    case $kept in
      zoo.cfg.dynamic.?*) grep -q "^server\.$id=" "$conf/$kept" 2>/dev/null || kept= ;;
      *) kept= ;;
    esac
    if [ -z "$kept" ]; then
      kept=zoo.cfg.dynamic
      cp "$given/zoo.cfg.dynamic" "$conf/$kept.new"
      mv "$conf/$kept.new" "$conf/$kept"
    fi
    {
      cat "$given/zoo.cfg"
      printf 'dataDir=%s\ndynamicConfigFile=%s\n' "$data" "$conf/$kept"
    } > "$conf/zoo.cfg.new"
    mv "$conf/zoo.cfg.new" "$conf/zoo.cfg"
    exec ${ZOOKEEPER_COMMAND:-zkServer.sh start-foreground} "$conf/zoo.cfg"
    ;;
  *) echo "usage: server.sh start|ready|alive" >&2; exit 2 ;;
esac
)";

}  // namespace

std::string ServerScript(const MemberSpec& spec) {
  return fmt::format("#!/bin/bash\nset -eu\noffset={}\nfirst={}\nconfig_path={}\ndata_path={}\n{}", spec.id_offset,
                     spec.ordinals_start, kConfigPath, kDataPath, kScript);
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
