#include "controllers/rollout/zookeeper/member/server_script.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::controllers::rollout::zookeeper::member {
namespace {

// What ZooKeeper itself writes into zoo.cfg is the name of the file with the members that were agreed on last, which ends in
// their version. The path before it is of the pod that wrote it. A recovery puts another list in its place, once for each
// request, as the next version: servers that look for a leader and hear of a newer list take it over, and would otherwise
// bring back the one before. What they agree on afterwards is newer again, since its version is the position of that write.
constexpr char kScript[] = R"(root=${EVENKEEL_POD_ROOT:-}
given="$root$config_path"
data="$root$data_path"
ordinal=${POD_NAME##*-}
id=$((offset + ordinal - first + 1))

# A probe runs every other second of a server's life, so up to its answer it starts nothing else.
line=
while read -r text || [ -n "$text" ]; do
  case $text in "server.$id="*\;*) line=${text##*;} ;; esac
done < "$given/zoo.cfg.dynamic"
port=${line##*:}
host=${line%"$port"}
host=${host%:}
bound=$host
case $host in ''|0.0.0.0|'[::]') host=127.0.0.1 bound= ;; esac

ask() {
  exec 3<>"/dev/tcp/$host/$port" || exit 1
  printf '%s' "$1" >&3
  while read -r text <&3 || [ -n "$text" ]; do
    case $text in "$2"*) exit 0 ;; esac
  done
  exit 1
}

# ZooKeeper wants a key and its certificates in one file, and reads no other kind of key.
secure() {
  local from="$root$secrets_path/$1" to="$root$keys_path/$1.pem"
  if ! grep -q -e '-----BEGIN PRIVATE KEY-----' "$from/tls.key"; then
    echo "tls.key in the Secret for TLS ($1) is no PKCS#8 key, which begins with BEGIN PRIVATE KEY" >&2
    exit 1
  fi
  (umask 077 && { cat "$from/tls.key" && echo && cat "$from/tls.crt"; } > "$to")
  printf '%s.keyStore.location=%s\n%s.keyStore.type=PEM\n' "$2" "$to" "$2"
  printf '%s.trustStore.location=%s\n%s.trustStore.type=PEM\n' "$2" "$from/ca.crt" "$2"
}

case ${1:-} in
  ready) ask srvr 'Mode: ' ;;
  alive) ask ruok imok ;;
  start)
    conf="$data/conf"
    mkdir -p "$conf"
    was=$(cat "$data/myid" 2>/dev/null || true)
    printf '%s\n' "$id" > "$data/myid"
    kept=$(sed -n 's/^dynamicConfigFile=.*\///p' "$conf/zoo.cfg" 2>/dev/null || true)
    case $kept in
      zoo.cfg.dynamic.?*) grep -q "^server\.$id=" "$conf/$kept" 2>/dev/null || kept= ;;
      *) kept= ;;
    esac
    # What a volume knows of another ensemble, or as another server, is whom that one had to look for.
    if [ "${was:-$id}" != "$id" ] || { [ -f "$given/ensemble" ] && [ -f "$conf/ensemble" ] && ! cmp -s "$given/ensemble" "$conf/ensemble"; }; then
      echo "this volume is of another server or ensemble: its list of servers is not used" >&2
      kept=
      rm -f "$conf/zoo.cfg.dynamic.next"
    fi
    if [ -n "$kept" ] && [ -f "$given/recovery.request" ] && grep -q "^server\.$id=" "$given/recovery.servers" &&
        ! cmp -s "$given/recovery.request" "$conf/recovered"; then
      kept=$(printf 'zoo.cfg.dynamic.%x' $((16#${kept##*.} + 1)))
      rm -f "$conf/zoo.cfg.dynamic.next"
      cp "$given/recovery.servers" "$conf/$kept.new"
      mv "$conf/$kept.new" "$conf/$kept"
      recovered=1
    fi
    if [ -z "$kept" ]; then
      kept=zoo.cfg.dynamic
      cp "$given/zoo.cfg.dynamic" "$conf/$kept.new"
      mv "$conf/$kept.new" "$conf/$kept"
    fi
    # Of an ensemble that there is already: with an empty disk it would vote as if nothing had ever been written. So it has no
    # vote before a leader has brought it up to date.
    caught_up=
    for snapshot in "$data"/version-2/snapshot.*; do
      if [ -e "$snapshot" ]; then caught_up=1; fi
    done
    {
      if [ -z "$caught_up" ] && [ -f "$given/formed" ]; then echo db.autocreate=false; fi
      cat "$given/zoo.cfg"
      printf 'dataDir=%s\ndynamicConfigFile=%s\n' "$data" "$conf/$kept"
      for peer in $secured; do
        case $peer in
          quorum) secure quorum ssl.quorum ;;
          client)
            secure client ssl
            if [ -n "$bound" ]; then printf 'secureClientPortAddress=%s\n' "$bound"; fi
            ;;
        esac
      done
    } > "$conf/zoo.cfg.new"
    mv "$conf/zoo.cfg.new" "$conf/zoo.cfg"
    if [ -f "$given/ensemble" ]; then cp "$given/ensemble" "$conf/ensemble"; fi
    if [ -n "${recovered:-}" ]; then cp "$given/recovery.request" "$conf/recovered"; fi
    exec ${ZOOKEEPER_COMMAND:-zkServer.sh start-foreground} "$conf/zoo.cfg"
    ;;
  *) echo "usage: server.sh start|ready|alive" >&2; exit 2 ;;
esac
)";

}  // namespace

std::string ServerScript(const MemberSpec& spec) {
  std::string secured = spec.quorum_secret.empty() ? "" : "quorum";
  if (!spec.client_secret.empty()) secured += secured.empty() ? "client" : " client";
  return fmt::format(
      "#!/bin/bash\nset -eu\noffset={}\nfirst={}\nconfig_path={}\ndata_path={}\nsecrets_path={}\nkeys_path={}\n"
      "secured='{}'\n{}{}",
      spec.id_offset, spec.ordinals_start, kConfigPath, kDataPath, kSecretsPath, kKeysPath, secured,
      spec.form > 1 ? fmt::format("form={}\n", spec.form) : "", kScript);
}

}  // namespace evenkeel::controllers::rollout::zookeeper::member
