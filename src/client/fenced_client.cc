#include "client/fenced_client.h"

#include <spdlog/fmt/fmt.h>

#include "client/forwarding_client.h"

namespace evenkeel::client {
namespace {

using base::Code;
using base::Fail;

// A build that is broken on purpose, so that a test can show that the simulator finds it out (tests/sim/without_fence.cc).
#ifdef EVENKEEL_WITHOUT_FENCE
constexpr bool kUnfenced = true;
#else
constexpr bool kUnfenced = false;
#endif

constexpr std::string_view kUidOrVersion = "metadata.uid or metadata.resourceVersion";

bool IsVersion(std::string_view version) { return !version.empty() && version != "0"; }

// Whether the body of a merge, strategic or apply patch holds only for the object that its sender knows.
bool NamesItsObject(const Json& patch) { return !kube::UidOf(patch).empty() || IsVersion(kube::ResourceVersionOf(patch)); }

bool TestsItsObject(const Json& patch) {
  if (!patch.is_array()) return false;
  return std::ranges::any_of(patch.get_array(), [](const Json& operation) {
    const std::string_view path = base::FindString(operation, {"path"});
    return base::FindString(operation, {"op"}) == "test" && (path == "/metadata/uid" || path == "/metadata/resourceVersion") &&
           !base::FindString(operation, {"value"}).empty();
  });
}

// What is missing from a patch; empty when nothing is.
std::string_view MissingFrom(PatchType type, const Json& patch) {
  if (type == PatchType::kJson) {
    return TestsItsObject(patch) ? "" : "a test of /metadata/uid or /metadata/resourceVersion in the patch";
  }
  return NamesItsObject(patch) ? "" : kUidOrVersion;
}

std::string_view MissingFromPost(const Resource& resource, std::string_view subresource, const Json& body) {
  if (subresource == "binding") return kube::UidOf(body).empty() ? "metadata.uid" : "";
  // A token is made and nothing else: the member is as it was, whoever asked.
  if (resource.plural == "serviceaccounts" && subresource == "token") return "";
  if (subresource != "eviction") return "a precondition, and this subresource has none to give";
  const bool has = !base::FindString(body, {"deleteOptions", "preconditions", "uid"}).empty() ||
                   !base::FindString(body, {"deleteOptions", "preconditions", "resourceVersion"}).empty();
  return has ? "" : "a uid or resourceVersion in deleteOptions.preconditions";
}

base::Error Shut(const Fence& fence, std::string_view what) {
  return {Code::kForbidden, fmt::format("{}: not sent: the Lease {}/{} there is no longer held by this replica (epoch {})",
                                        what, kOwnerLeaseNamespace, kOwnerLease, fence.epoch())};
}

// A call that Client gains is handed on: where it writes, it belongs here.
class FencedClient final : public ForwardingClient {
 public:
  FencedClient(std::unique_ptr<Client> next, std::shared_ptr<Fence> fence)
      : ForwardingClient(*next), own_(std::move(next)), fence_(std::move(fence)) {}

  Result<Json> Create(const Resource& resource, const Json& object, const WriteOptions& options) override {
    return Write({"create", resource, kube::NamespaceOf(object), kube::NameOf(object)}, "",
                 [&] { return next().Create(resource, object, options); });
  }

  Result<Json> Update(const Resource& resource, const Json& object, const WriteOptions& options) override {
    const bool versioned = IsVersion(kube::ResourceVersionOf(object));
    return Write({"update", resource, kube::NamespaceOf(object), kube::NameOf(object)},
                 versioned ? "" : "metadata.resourceVersion", [&] { return next().Update(resource, object, options); });
  }

  Result<Json> Patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type, const Json& patch,
                     const PatchOptions& options) override {
    return Write({"patch", resource, ns, name}, MissingFrom(type, patch),
                 [&] { return next().Patch(resource, ns, name, type, patch, options); });
  }

  Result<Json> Delete(const Resource& resource, std::string_view ns, std::string_view name,
                      const DeleteOptions& options) override {
    const bool bound = !options.uid.empty() || !options.resource_version.empty();
    return Write({"delete", resource, ns, name}, bound ? "" : "a uid or resourceVersion as precondition",
                 [&] { return next().Delete(resource, ns, name, options); });
  }

  Result<Json> Post(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                    const Json& body) override {
    return Write({"post", resource, ns, name, subresource}, MissingFromPost(resource, subresource, body),
                 [&] { return next().Post(resource, ns, name, subresource, body); });
  }

 private:
  // What is to be done to what, for messages.
  struct Deed {
    std::string_view verb;
    const Resource& resource;
    std::string_view ns, name;
    std::string_view subresource = "";

    std::string Text(const Client& client) const {
      return fmt::format("{} {}{}{} {}{}{} in {}", verb, resource.QualifiedPlural(), subresource.empty() ? "" : "/",
                         subresource, ns, ns.empty() ? "" : "/", name, client.Describe());
    }
  };

  template <typename Call>
  Result<Json> Write(const Deed& deed, std::string_view missing, Call call) {
    if (kUnfenced) return call();
    if (!fence_->Begin()) return Fail(Shut(*fence_, deed.Text(next())));
    if (!missing.empty()) {
      fence_->End(true);
      return Fail(Code::kBadRequest, fmt::format("{}: not sent: a fenced write needs {}", deed.Text(next()), missing));
    }
    Result<Json> answer = call();
    fence_->End(answer || !MayHaveTakenEffect(answer.error().code()));
    return answer;
  }

  const std::unique_ptr<Client> own_;
  const std::shared_ptr<Fence> fence_;
};

}  // namespace

std::unique_ptr<Client> NewFencedClient(std::unique_ptr<Client> next, std::shared_ptr<Fence> fence) {
  return std::make_unique<FencedClient>(std::move(next), std::move(fence));
}

base::Status FencedWrite(Fence& fence, std::string_view what, const std::function<base::Status()>& call) {
  if (kUnfenced) return call();
  if (!fence.Begin()) return Fail(Shut(fence, what));
  base::Status answer = call();
  fence.End(answer || !MayHaveTakenEffect(answer.error().code()));
  return answer;
}

}  // namespace evenkeel::client
