#include "sim/checkers/probe.h"

#include "client/informer.h"
#include "controllers/distribution/sharding/published_plan.h"
#include "embedded/fleet/hub_objects.h"

namespace evenkeel::sim {
namespace {

class Probe {
 public:
  Probe(Replica& replica, const std::string& member, NoOlderChecker& checker)
      : user_(replica.user()),
        checker_(checker),
        hub_(replica.NewClient(kHub)),
        member_(replica.NewClient(member)),
        strand_(replica.process().NewStrand("probe")) {
    const std::string ns = embedded::fleet::kNamespace;
    Follow(replica, *hub_, kHub, kube::resources::Secrets(), ns);
    Follow(replica, *hub_, kHub, controllers::distribution::ShardPlans(), ns);
    Follow(replica, *member_, member, kube::resources::Nodes(), "");
    Follow(replica, *member_, member, kube::resources::ConfigMaps(), "default");
    strand_->Post([this] {
      for (const auto& informer : informers_) informer->Start();
    });
  }
  ~Probe() {
    strand_->Close();
    checker_.Forget(user_);
  }

 private:
  using Informer = client::Informer<kube::Object>;

  void Follow(Replica& replica, client::Client& client, const std::string& api, const kube::Resource& resource,
              const std::string& ns) {
    auto informer = std::make_unique<Informer>(client, resource, client::InformerOptions{.ns = ns}, strand_,
                                               replica.process().clock(), replica.random().Fork("probe " + resource.plural));
    informer->AddHandler([this, what = api + " " + resource.plural + " "](const auto&, const auto& after) {
      if (after) checker_.Delivered(user_, what + after->meta.Key(), after->meta.uid, after->meta.resource_version);
    });
    informers_.push_back(std::move(informer));
  }

  const std::string user_;
  NoOlderChecker& checker_;
  const std::unique_ptr<client::Client> hub_, member_;
  const std::shared_ptr<base::Strand> strand_;
  std::vector<std::unique_ptr<Informer>> informers_;
};

}  // namespace

std::shared_ptr<void> NewProbe(Replica& replica, const std::string& member, NoOlderChecker& checker) {
  return std::make_shared<Probe>(replica, member, checker);
}

}  // namespace evenkeel::sim
