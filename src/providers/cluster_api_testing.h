// A management cluster with Cluster API's kinds, for tests: a FakeClient that also answers discovery, compares uids and
// resource versions of patches, and takes none that states neither (as a member's fenced client).
#pragma once

#include <string>

#include "client/fake_client_testing.h"

namespace evenkeel::providers::testing {

inline kube::Resource ClusterApiResource(const std::string& kind, const std::string& plural) {
  return kube::MakeResource("cluster.x-k8s.io/v1beta1", kind, plural);
}

class ManagementClient final : public client::ChangedFakeClient {
 public:
  std::string groups =
      R"({"groups":[{"name":"cluster.x-k8s.io","preferredVersion":{"version":"v1beta1"}},
                    {"name":"infra.io","preferredVersion":{"version":"v1"}}]})";
  std::map<std::string, std::string> resources = {
      {"/apis/cluster.x-k8s.io/v1beta1", R"({"resources":[
          {"name":"machinesets","kind":"MachineSet","namespaced":true},
          {"name":"machinesets/scale","kind":"Scale","namespaced":true},
          {"name":"machinedeployments","kind":"MachineDeployment","namespaced":true},
          {"name":"machinepools","kind":"MachinePool","namespaced":true},
          {"name":"machines","kind":"Machine","namespaced":true}]})"},
      {"/apis/infra.io/v1", R"({"resources":[{"name":"metaltemplates","kind":"MetalTemplate","namespaced":true}]})"}};

  client::Result<client::Json> Patch(const kube::Resource& resource, std::string_view ns, std::string_view name,
                                     client::PatchType type, const client::Json& patch,
                                     const client::PatchOptions& options) override {
    patched.push_back(resource.plural + (options.subresource.empty() ? "" : "/" + options.subresource));
    if (before_patch) before_patch();
    const std::string_view version = kube::ResourceVersionOf(patch), uid = kube::UidOf(patch);
    if (version.empty() && uid.empty()) return base::Fail(base::Code::kForbidden, "states neither uid nor resourceVersion");
    const auto stored = fake.Get(resource, ns, name);
    if (stored && !uid.empty() && uid != kube::UidOf(*stored)) {
      return base::Fail(base::Code::kConflict, "another object has taken the name");
    }
    if (stored && !version.empty() && version != kube::ResourceVersionOf(*stored)) {
      return base::Fail(base::Code::kConflict, "the object has been modified");
    }
    return fake.Patch(resource, ns, name, type, patch, options);
  }
  client::Result<std::string> GetRaw(std::string_view path) override {
    raw.emplace_back(path);
    if (path == "/apis") return groups;
    const auto found = resources.find(std::string(path));
    if (found != resources.end()) return found->second;
    return base::Fail(base::Code::kNotFound, "the server could not find the requested resource");
  }
  std::string Describe() const override { return "management"; }

  std::function<void()> before_patch;  ///< what others write at the same time
  std::vector<std::string> patched;    ///< "machines", "machinesets/scale" ..., in order
  std::vector<std::string> raw;        ///< paths that were asked for
};

}  // namespace evenkeel::providers::testing
