// Rules of security contexts (kubernetes@1.36:pkg/apis/core/validation, ValidateSecurityContext and the like).
#include <algorithm>
#include <set>

#include "base/pattern.h"
#include "kube/validation/validation_pod.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;

/// Of users and groups.
void Identity(const Json& value, const FieldPath& path, Causes& causes) {
  const int64_t number = value.is_int64() ? value.get_int64() : -1;
  if (number < 0 || number > 2147483647) {
    causes.push_back(InvalidValue(path, value, "must be between 0 and 2147483647, inclusive"));
  }
}

void Identities(const Json& context, std::initializer_list<std::string_view> fields, const FieldPath& path, Causes& causes) {
  for (const std::string_view field : fields) {
    if (const Json* value = Member(context, field)) Identity(*value, path.Field(field), causes);
  }
}

void Seccomp(const Json& context, const FieldPath& path, Causes& causes) {
  const Json* profile = Member(context, "seccompProfile");
  if (profile == nullptr) return;
  const FieldPath here = path.Field("seccompProfile");
  const FieldPath local = here.Field("localhostProfile");
  const bool is_local = Text(*profile, "type") == "Localhost";
  if (is_local && !Has(*profile, "localhostProfile")) {
    causes.push_back(RequiredValue(local, "must be set when seccomp type is Localhost"));
  } else if (is_local) {
    DescendingPath(Text(*profile, "localhostProfile"), local, causes);
  } else if (Has(*profile, "localhostProfile")) {
    causes.push_back(InvalidValue(local, *profile, "can only be set when seccomp type is Localhost"));
  }
}

void AppArmor(const Json& context, const FieldPath& path, Causes& causes) {
  const Json* profile = Member(context, "appArmorProfile");
  if (profile == nullptr) return;
  const FieldPath here = path.Field("appArmorProfile");
  const FieldPath local = here.Field("localhostProfile");
  const std::string_view name = Text(*profile, "localhostProfile");
  if (Text(*profile, "type") != "Localhost") {
    if (Has(*profile, "localhostProfile")) {
      causes.push_back(InvalidText(local, name, "can only be set when AppArmor type is Localhost"));
    }
  } else if (name.empty()) {
    causes.push_back(RequiredValue(local, "must be set when AppArmor type is Localhost"));
  } else if (std::isspace(static_cast<unsigned char>(name.front())) || std::isspace(static_cast<unsigned char>(name.back()))) {
    causes.push_back(InvalidText(local, name, "must not be padded with whitespace"));
  }
}

void WindowsOptions(const Json& context, const FieldPath& path, Causes& causes) {
  const Json* options = Member(context, "windowsOptions");
  if (options == nullptr) return;
  const FieldPath here = path.Field("windowsOptions");
  for (const char* field : {"gmsaCredentialSpec", "runAsUserName"}) {
    if (!Has(*options, field) || !Text(*options, field).empty()) continue;
    causes.push_back(InvalidText(here.Field(field), "", std::string(field) + " cannot be an empty string"));
  }
}

void Sysctls(const Json& spec, const Json& context, const FieldPath& path, Causes& causes) {
  constexpr std::string_view kName = R"(([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?)";
  constexpr size_t kNameMax = 253;
  static const auto* const name_pattern = new auto(base::Pattern::Parse("^" + std::string(kName) + "$").value());
  const JsonArray& sysctls = List(context, "sysctls");
  const FieldPath list = path.Field("sysctls");
  std::set<std::string_view> seen;
  for (size_t i = 0; i < sysctls.size(); ++i) {
    const FieldPath entry = list.Index(i);
    const FieldPath here = entry.Field("name");
    const std::string_view name = Text(sysctls[i], "name");
    if (name.empty()) continue;  // the schema tells
    if (name.size() > kNameMax || !(*name_pattern)->Matches(name)) {
      causes.push_back(
          InvalidText(here, name, "must have at most 253 characters and match regex ^" + std::string(kName) + "$"));
    } else if (!seen.insert(name).second) {
      causes.push_back(DuplicateText(here, name));
    }
    std::string dotted(name);
    std::ranges::replace(dotted, '/', '.');
    const bool of_ipc = dotted.starts_with("kernel.shm") || dotted.starts_with("kernel.msg") || dotted == "kernel.sem" ||
                        dotted.starts_with("fs.mqueue.");
    if (dotted.starts_with("net.") && Flag(spec, "hostNetwork")) {
      causes.push_back(InvalidText(here, name, "may not be specified when 'hostNetwork' is true"));
    } else if (of_ipc && Flag(spec, "hostIPC")) {
      causes.push_back(InvalidText(here, name, "may not be specified when 'hostIPC' is true"));
    }
  }
}

}  // namespace

void PodSecurity(const Json& spec, const FieldPath& path, Causes& causes) {
  const FieldPath here = path.Field("securityContext");
  if (Flag(spec, "shareProcessNamespace") && Flag(spec, "hostPID")) {
    causes.push_back(
        InvalidValue(here.Field("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled"));
  }
  if (Has(spec, "hostUsers") && !Flag(spec, "hostUsers")) {
    // With the capitals that upstream gives them here.
    for (const auto& [field, shown] :
         {std::pair("hostNetwork", "hostNetwork"), std::pair("hostPID", "HostPID"), std::pair("hostIPC", "HostIPC")}) {
      if (Flag(spec, field)) causes.push_back(ForbiddenValue(path.Field(shown), "when `pod.Spec.HostUsers` is false"));
    }
  }
  const Json* context = Member(spec, "securityContext");
  if (context == nullptr) return;
  Identities(*context, {"fsGroup", "runAsUser", "runAsGroup"}, here, causes);
  const JsonArray& groups = List(*context, "supplementalGroups");
  const FieldPath groups_path = here.Field("supplementalGroups");
  for (size_t i = 0; i < groups.size(); ++i) Identity(groups[i], groups_path.Index(i), causes);
  Sysctls(spec, *context, here, causes);
  Seccomp(*context, here, causes);
  WindowsOptions(*context, here, causes);
  AppArmor(*context, here, causes);
}

void ContainerSecurity(const Json& context, bool host_users, const FieldPath& path, Causes& causes) {
  Identities(context, {"runAsUser", "runAsGroup"}, path, causes);
  if (host_users && Text(context, "procMount") == "Unmasked") {
    causes.push_back(InvalidText(path.Field("procMount"), "Unmasked", "`hostUsers` must be false to use `Unmasked`"));
  }
  Seccomp(context, path, causes);
  if (Has(context, "allowPrivilegeEscalation") && !Flag(context, "allowPrivilegeEscalation")) {
    if (Flag(context, "privileged")) {
      causes.push_back(InvalidValue(path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
    }
    if (const Json* capabilities = Member(context, "capabilities")) {
      for (const Json& one : List(*capabilities, "add")) {
        if (one != "CAP_SYS_ADMIN") continue;
        causes.push_back(
            InvalidValue(path, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"));
      }
    }
  }
  WindowsOptions(context, path, causes);
  AppArmor(context, path, causes);
}

}  // namespace evenkeel::kube::validation
