// Informers of every kind that the balancer's rules ask about, feeding MemberObjects. Objects go through and are not kept: of
// each only its identity and version stay behind. Kinds that the API does not serve have no objects.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "client/informer.h"
#include "controllers/balancer/member/member_objects.h"

namespace evenkeel::controllers::balancer::member {

/// A kind that is read, and which of its objects.
struct ReadKind {
  kube::Resource resource;
  std::string field_selector;
};
const std::vector<ReadKind>& ReadKinds();
/// What the metrics API has of pods: not watched, but listed where a policy looks at usage (DecodeUsage).
const kube::Resource& PodMetrics();

/// All that an informer needs to tell versions apart.
struct PassingObject {
  struct Meta {
    std::string uid, resource_version;
    uint32_t bytes = 0;
  };
  Meta meta;
  std::string key;
  mutable base::Json object;  ///< until the handler has taken it

  static PassingObject Decode(base::Json&& json);
};

/// Belongs to its strand, as MemberObjects does.
class MemberCache {
 public:
  MemberCache(client::Client& client, const std::shared_ptr<base::Strand>& strand, base::Clock& clock,
              const base::Random& random);

  void Start();
  bool Synced() const;
  /// "pods, nodes (connection refused)": what has not been listed yet and why.
  std::string Missing() const;
  MemberObjects& objects() { return objects_; }

 private:
  using ObjectInformer = client::Informer<PassingObject>;
  void Take(const std::string& kind, const PassingObject* before, const PassingObject* after);

  MemberObjects objects_;
  std::vector<std::pair<std::string, std::unique_ptr<ObjectInformer>>> feeds_;  // by kind
};

}  // namespace evenkeel::controllers::balancer::member
