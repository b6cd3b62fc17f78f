// Looking for things in members: by words, of one member or of all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "dashboard/member_rows.h"
#include "embedded/apiserver/requests/request_info.h"

namespace evenkeel::dashboard {

/// Of one answer.
inline constexpr size_t kFoundMax = 500;

struct FindRequest {
  std::string cluster;             ///< "": all
  std::vector<std::string> words;  ///< in lower case; each is to occur
  std::string node;                ///< only pods on it; "": all
  std::string state;               ///< only what is in that state; "": all
  bool nodes = true, pods = true, groups = true;
  size_t limit = 50;
  /// Of ?text=&cluster=&node=&state=&kind=&limit=. kBadRequest in one sentence.
  static base::Result<FindRequest> Parse(const embedded::apiserver::Query& query);
  /// Whether all words occur in it.
  bool Matches(std::string_view text) const;
};

/// What one member, or all, have of it: at most as many as were asked for, and how many there are.
struct Found {
  struct Row {
    std::string kind, cluster, name;  ///< "Node", "Pod" (namespace/name), "NodeGroup"
    base::Json entry;
  };
  std::vector<Row> rows;
  size_t total = 0;
  std::vector<std::string> missing;  ///< members that could not be asked

  /// Those beyond `limit` are only counted.
  void Add(size_t limit, std::string_view kind, std::string_view name, base::Json entry);
  void Merge(Found other, const std::string& cluster, size_t limit);
  /// {"found": [{"kind", "cluster", "name", ...}], "total", "missing"}
  base::Json ToJson() const;
};

/// {"node", "state", "ready", "restarts", "since"}
base::Json FoundPod(const PodRow& pod);
base::Json FoundNode(const NodeRow& node);
/// "Running", "Pending", "Leaving", "Succeeded" ...
std::string StateOf(const PodRow& pod);

}  // namespace evenkeel::dashboard
