#include "dashboard/actions/action_request.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"

namespace evenkeel::dashboard {
namespace {

using base::Code;

constexpr std::array<std::pair<ActionKind, std::string_view>, 8> kNames = {{{ActionKind::kCordon, "cordon"},
                                                                            {ActionKind::kUncordon, "uncordon"},
                                                                            {ActionKind::kDrain, "drain"},
                                                                            {ActionKind::kScale, "scale"},
                                                                            {ActionKind::kPause, "pause"},
                                                                            {ActionKind::kResume, "resume"},
                                                                            {ActionKind::kApprove, "approve"},
                                                                            {ActionKind::kReject, "reject"}}};
/// Kubernetes' own limit of names; a seen is a hash.
constexpr size_t kNameMax = 253;
/// As many nodes no group has.
constexpr int64_t kSizeMax = 100'000;

std::unexpected<base::Error> Bad(std::string what) { return base::Fail(Code::kBadRequest, "request body: " + std::move(what)); }

}  // namespace

std::string_view Name(ActionKind kind) { return std::ranges::find(kNames, kind, &decltype(kNames)::value_type::first)->second; }

bool IsPlainName(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
           c == ':';
  };
  return !text.empty() && text.size() <= kNameMax && text != "." && text != ".." && std::ranges::all_of(text, plain);
}

Question ActionRequest::Asks() const {
  switch (kind) {
    case ActionKind::kPause:
    case ActionKind::kResume:
      return MayOnRollout("pause", ns, name);
    case ActionKind::kUncordon:
      return MayOnMember("cordon", cluster);
    case ActionKind::kReject:
      return MayOnMember("approve", cluster);
    default:
      return MayOnMember(Name(kind), cluster);
  }
}

base::Result<ActionRequest> ActionRequest::Parse(std::string_view body) {
  if (body.size() > kActionBytesMax) {
    return base::Fail(Code::kTooLarge, fmt::format("the body is larger than {} bytes", kActionBytesMax));
  }
  EVENKEEL_ASSIGN(const base::Json json, base::ParseJson(body, "request body"));
  ActionRequest request;
  const std::string_view action = base::FindString(json, {"action"});
  const auto known = std::ranges::find(kNames, action, &decltype(kNames)::value_type::second);
  if (known == kNames.end()) {
    return Bad("action: there are cordon, uncordon, drain, scale, pause, resume, approve and reject");
  }
  request.kind = known->first;
  request.cluster = base::FindString(json, {"cluster"});
  request.ns = base::FindString(json, {"namespace"});
  request.name = base::FindString(json, {"name"});
  request.seen = base::FindString(json, {"seen"});
  request.dry_run = base::FindBool(json, {"dryRun"});
  if (!request.on_hub() && !IsPlainName(request.cluster)) return Bad("cluster: the name of a member is missing");
  if (request.on_hub() && !IsPlainName(request.ns)) return Bad("namespace: it is missing");
  if (!IsPlainName(request.name)) return Bad("name: the name of an object is missing");
  if (request.kind == ActionKind::kScale) {
    request.size = base::FindInt(json, {"size"}, -1);
    if (request.size < 0 || request.size > kSizeMax) return Bad(fmt::format("size: not a number from 0 to {}", kSizeMax));
  }
  if (!request.dry_run && (request.seen.empty() || request.seen.size() > kNameMax)) {
    return Bad("seen: it is missing: ask with dryRun first");
  }
  return request;
}

}  // namespace evenkeel::dashboard
