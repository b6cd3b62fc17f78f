#include "embedded/fleet/store_location.h"

#include "embedded/store/etcd_store.h"
#include "embedded/store/memory_store.h"
#include "embedded/store/sqlite_store.h"

namespace evenkeel::embedded::fleet {

base::Result<std::unique_ptr<store::Store>> OpenStore(const std::string& spec) {
  constexpr std::string_view kSqlite = "sqlite:", kEtcd = "etcd://";
  if (spec == "memory") return store::NewMemoryStore();
  if (spec.starts_with(kSqlite) && spec.size() > kSqlite.size()) return store::OpenSqliteStore(spec.substr(kSqlite.size()));
  if (spec.starts_with(kEtcd) && spec.size() > kEtcd.size()) {
    std::vector<std::string> endpoints(1);
    for (char c : spec.substr(kEtcd.size())) {
      if (c == ',') {
        endpoints.emplace_back();
      } else {
        endpoints.back() += c;
      }
    }
    return store::OpenEtcdStore(endpoints);
  }
  return base::Fail(base::Code::kBadRequest,
                    "store \"" + spec + "\" is not known: use sqlite:PATH, etcd://HOST:PORT,... or memory");
}

}  // namespace evenkeel::embedded::fleet
