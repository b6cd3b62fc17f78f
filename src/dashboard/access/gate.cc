#include "dashboard/access/gate.h"

#include <spdlog/fmt/fmt.h>

#include "kube/own_kinds.h"

namespace evenkeel::dashboard {
namespace {

using base::Code;
using base::Json;
using base::JsonArray;
using base::JsonObject;

const kube::Resource& ReviewKind(const char* api_version, const char* kind) {
  const kube::Resource* found = kube::FindBuiltInKind(api_version, kind);
  EVENKEEL_CHECK(found != nullptr);
  return *found;
}

class HubGate final : public Gate {
 public:
  explicit HubGate(client::Client& hub) : hub_(hub) {}

  base::Status Allow(const Identity& who, const Question& what) override {
    const kube::Resource& kind = ReviewKind("authorization.k8s.io/v1", "SubjectAccessReview");
    JsonObject attributes{{"group", kAccessGroup}, {"verb", what.verb}, {"resource", what.resource}};
    if (!what.ns.empty()) attributes["namespace"] = what.ns;
    if (!what.name.empty()) attributes["name"] = what.name;
    JsonObject spec{{"user", who.user}, {"resourceAttributes", std::move(attributes)}};
    if (!who.groups.empty()) spec["groups"] = JsonArray(who.groups.begin(), who.groups.end());
    if (!who.uid.empty()) spec["uid"] = who.uid;
    const auto answer = hub_.Create(kind, Review(kind, std::move(spec)));
    if (!answer) {
      return base::Fail(Code::kUnavailable, fmt::format("refused, because the hub does not say whether {} may {}: {}", who.user,
                                                        what.ToText(), answer.error().message()));
    }
    if (base::FindBool(*answer, {"status", "allowed"}) && !base::FindBool(*answer, {"status", "denied"})) return {};
    return base::Fail(Code::kForbidden,
                      fmt::format("{} may not {}: a role of the hub has to allow it", who.user, what.ToText()));
  }

  base::Result<Identity> WhoIs(std::string_view token) override {
    const kube::Resource& kind = ReviewKind("authentication.k8s.io/v1", "TokenReview");
    const auto answer = hub_.Create(kind, Review(kind, JsonObject{{"token", token}}));
    if (!answer) {
      return base::Fail(Code::kUnavailable, "the hub does not say whose token it is: " + answer.error().message());
    }
    Identity identity;
    identity.user = base::FindString(*answer, {"status", "user", "username"});
    identity.uid = base::FindString(*answer, {"status", "user", "uid"});
    identity.groups = base::FindTexts(*answer, {"status", "user", "groups"});
    if (!base::FindBool(*answer, {"status", "authenticated"}) || identity.user.empty()) {
      return base::Fail(Code::kUnauthorized,
                        "this is neither a token of the dashboard nor one that the hub accepts: copy it once more");
    }
    return identity;
  }

 private:
  static Json Review(const kube::Resource& kind, JsonObject spec) {
    return JsonObject{
        {"apiVersion", kind.ApiVersion()}, {"kind", kind.kind}, {"metadata", JsonObject{}}, {"spec", std::move(spec)}};
  }

  client::Client& hub_;
};

}  // namespace

std::unique_ptr<Gate> NewHubGate(client::Client& hub) { return std::make_unique<HubGate>(hub); }

}  // namespace evenkeel::dashboard
