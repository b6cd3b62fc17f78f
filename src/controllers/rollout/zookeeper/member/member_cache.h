// Informers of what the ZooKeepers of a member consist of, and the pictures that they give. Begins to watch more than the
// ZooKeepers when there is one.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "client/informer.h"
#include "controllers/rollout/zookeeper/member/picture.h"

namespace evenkeel::controllers::rollout::zookeeper::member {

class MemberCache {
 public:
  using Informer = client::Informer<kube::Object>;

  MemberCache(client::Client& client, const std::shared_ptr<base::Strand>& strand, base::Clock& clock,
              const base::Random& random);
  void Start() { zookeepers_.Start(); }
  /// Whether everything that is needed has been listed; starts what is missing. "": yes.
  std::string WhyNotSynced();

  const std::map<std::string, Informer::Pointer>& zookeepers() const { return zookeepers_.items(); }
  /// As the member serves it: policy/v1 has come with Kubernetes 1.21, policy/v1beta1 has gone with 1.25.
  const kube::Resource& Served(std::string_view kind) const;
  /// Null when absent.
  std::shared_ptr<const base::Json> Get(const kube::Resource& resource, const std::string& key) const;
  /// Without answers and password. `deleted`: uids of pods whose deletion has been asked for; those that are gone are dropped.
  Picture PictureOf(MemberSpec spec, const base::Json& object, std::set<std::string>& deleted) const;

 private:
  struct Owned {
    kube::Resource resource;
    std::string other_version;  ///< instead of the resource's, where that is not served; "": there is none
    std::unique_ptr<Informer> informer;
  };
  void Make(Owned& owned);
  const Owned& Of(std::string_view kind) const;

  client::Client& client_;
  const std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  const base::Random random_;
  Informer zookeepers_;
  std::vector<Owned> owned_;
  bool started_ = false;
};

}  // namespace evenkeel::controllers::rollout::zookeeper::member
