// Which writes a webhook or a policy hears of, and how it sees them (admission.k8s.io/v1's request).
// Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go,
// staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "embedded/access/authorizer.h"
#include "embedded/apiserver/definitions/resource_table.h"
#include "embedded/apiserver/definitions/webhook_client.h"
#include "kube/rules/admission.h"
#include "kube/selector.h"

namespace evenkeel::embedded::apiserver {

struct Call;

/// The group of webhooks' configurations and of policies.
inline constexpr std::string_view kAdmissionGroup = "admissionregistration.k8s.io";

/// What the questions need to know of the cluster. Called on the thread that asks; may block.
struct AdmissionView {
  /// Labels of a namespace; nullopt where there is none.
  std::function<std::optional<kube::Labels>(const std::string& ns)> namespace_labels;
  ServiceAddress service_address;
  /// What conditions ask of access rules.
  std::function<access::Decision(const access::UserInfo& user, const access::Attributes& attributes)> authorize;
  /// The versions under which objects of this kind are served, this one included.
  std::function<std::vector<ServedPointer>(const Served& served)> versions;
  /// Null where it is not served.
  std::function<ServedPointer(std::string_view api_version, std::string_view kind)> kind;
  /// One object.
  std::function<base::Result<base::Json>(const ServedPointer& served, const std::string& ns, const std::string& name)> object;
  /// All objects of a namespace, or of the cluster.
  std::function<base::Result<std::vector<base::Json>>(const ServedPointer& served, const std::string& ns)> objects;
};

/// One write, as it is asked about.
struct AdmissionQuestion {
  std::string_view operation;  ///< "CREATE", "UPDATE", "DELETE"
  std::string uid;
  const base::Json* old = nullptr;      ///< null: a new object
  const base::Json* options = nullptr;  ///< null: those of the operation's kind, empty
};

/// Rules and selectors. Immutable.
class WriteFilter {
 public:
  WriteFilter() = default;
  /// Of a webhook, or of a policy's or a binding's matchResources; `rules` is the field that has the rules.
  WriteFilter(const base::Json& json, std::string_view rules);

  /// The version in which the object is wanted; null where the rules do not mean the write. `versions`: those in which the kind
  /// is served.
  ServedPointer MatchedVersion(const Call& call, std::string_view operation, const std::vector<ServedPointer>& versions) const;
  /// Whether the selectors mean the write.
  bool Selects(const AdmissionView& view, const Call& call, const base::Json& object, const base::Json* old) const;
  bool has_rules() const { return !rules_.empty(); }
  /// Whether its excludeResourceRules mean the write.
  bool Excludes(const Call& call, std::string_view operation, const std::vector<ServedPointer>& versions) const;

 private:
  ServedPointer Matched(const std::vector<base::Json>& rules, const Call& call, std::string_view operation,
                        const std::vector<ServedPointer>& versions) const;

  std::vector<base::Json> rules_, excluded_;
  kube::LabelSelector namespaces_, objects_;
  bool all_namespaces_ = true, all_objects_ = true;
  bool equivalent_ = true;
};

/// An object of one version of a kind in the form of another. What is of another kind, as Scale is, stays as it is.
base::Json ConvertedTo(const Served& to, const Served& from, const base::Json& object);
/// admission.k8s.io/v1's request without its uid and the objects.
base::JsonObject RequestOf(const Call& call, const Served& as, const AdmissionQuestion& question, const base::Json& object);
/// What `authorizer.requestResource` asks about.
kube::cel::AccessQuestion AccessQuestionOf(const Call& call);

/// What expressions ask of this API's rights: of whoever sent the request, or of an account.
class RightsOfCaller final : public kube::cel::AccessRules {
 public:
  RightsOfCaller(const decltype(AdmissionView::authorize)& authorize, const Call& call) : authorize_(authorize), call_(call) {}
  Answer Ask(const kube::cel::AccessQuestion& question, std::string_view verb) const override;

 private:
  const decltype(AdmissionView::authorize)& authorize_;
  const Call& call_;
};

}  // namespace evenkeel::embedded::apiserver
