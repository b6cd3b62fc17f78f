#include "controllers/runtime/eviction.h"

namespace evenkeel::controllers::runtime {

base::Json EvictionOf(std::string_view ns, std::string_view name, std::string_view uid, std::optional<int64_t> grace) {
  base::JsonObject options{{"preconditions", base::JsonObject{{"uid", uid}}}};
  if (grace) options["gracePeriodSeconds"] = *grace;
  // The version that every server knows: policy/v1 has come with Kubernetes 1.22.
  return base::JsonObject{{"apiVersion", "policy/v1beta1"},
                          {"kind", "Eviction"},
                          {"metadata", base::JsonObject{{"name", name}, {"namespace", ns}}},
                          {"deleteOptions", std::move(options)}};
}

}  // namespace evenkeel::controllers::runtime
