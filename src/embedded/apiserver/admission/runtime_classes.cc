#include "embedded/apiserver/admission/runtime_classes.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "embedded/apiserver/definitions/stored.h"
#include "embedded/apiserver/objects/call.h"
#include "embedded/apiserver/requests/errors.h"
#include "kube/quantity.h"

namespace evenkeel::embedded::apiserver {
namespace {

/// The same amounts, however they are written.
bool SameAmounts(const base::JsonObject& a, const base::JsonObject& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& item) {
           const Json* other = b.if_contains(item.key());
           if (other == nullptr) return false;
           const auto left = kube::Quantity::FromJson(item.value()), right = kube::Quantity::FromJson(*other);
           return left && right && *left == *right;
         });
}

std::string SetOverhead(const Json& runtime_class, Json& spec) {
  const Json* overhead = base::Find(runtime_class, {"overhead"});
  const bool states_one = base::Find(spec, {"overhead"}) != nullptr && !base::Find(spec, {"overhead"})->is_null();
  if (overhead == nullptr || overhead->is_null()) {
    return states_one ? "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead" : "";
  }
  const base::JsonObject& fixed = base::FindObject(*overhead, {"podFixed"});
  if (states_one && !SameAmounts(fixed, base::FindObject(spec, {"overhead"}))) {
    return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
  }
  spec.get_object()["overhead"] = fixed;
  return "";
}

std::string SetScheduling(const Json& runtime_class, Json& spec) {
  for (const auto& [key, value] : base::FindObject(runtime_class, {"scheduling", "nodeSelector"})) {
    Json& own = base::Ensure(spec, {"nodeSelector", key});
    if (!own.is_null() && own != value && value.is_string()) {
      return fmt::format("conflict: runtimeClass.scheduling.nodeSelector[{0}] = {1}; pod.spec.nodeSelector[{0}] = {2}",
                         std::string_view(key), value.get_string(), own.is_string() ? std::string_view(own.get_string()) : "");
    }
    own = value;
  }
  for (const Json& toleration : base::FindArray(runtime_class, {"scheduling", "tolerations"})) {
    Json& own = base::Ensure(spec, {"tolerations"});
    if (!own.is_array()) own = base::JsonArray();
    base::JsonArray& list = own.get_array();
    if (std::ranges::find(list, toleration) == list.end()) list.push_back(toleration);
  }
  return "";
}

}  // namespace

base::Status ApplyRuntimeClass(store::Store& store, const Served& served, const Call& call, Json& pod) {
  Json* spec = base::Find(pod, {"spec"});
  if (spec == nullptr || !spec->is_object()) return {};
  const auto refuse = [&](const std::string& why) { return base::Fail(ForbiddenError(call.served->resource, call.name, why)); };
  const std::string name(base::FindString(*spec, {"runtimeClassName"}));
  Json runtime_class = base::JsonObject();
  if (!name.empty()) {
    const auto found = store.Get(served.Key("", name));
    if (!found && found.error().code() != base::Code::kNotFound) return base::Fail(found.error());
    if (!found) return refuse("pod rejected: RuntimeClass \"" + name + "\" not found");
    EVENKEEL_ASSIGN(runtime_class, DecodeObject(served, {found->value, found->mod_revision}));
  }
  if (std::string why = SetOverhead(runtime_class, *spec); !why.empty()) return refuse(why);
  if (std::string why = SetScheduling(runtime_class, *spec); !why.empty()) return refuse(why);
  return {};
}

}  // namespace evenkeel::embedded::apiserver
