#include "dashboard/actions/action_request.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/input/field.h"
#include "base/text.h"

namespace evenkeel::dashboard {
namespace {

using base::Code;

constexpr std::array<std::pair<std::string_view, ActionKind>, 8> kNames = {{{"cordon", ActionKind::kCordon},
                                                                            {"uncordon", ActionKind::kUncordon},
                                                                            {"drain", ActionKind::kDrain},
                                                                            {"scale", ActionKind::kScale},
                                                                            {"pause", ActionKind::kPause},
                                                                            {"resume", ActionKind::kResume},
                                                                            {"approve", ActionKind::kApprove},
                                                                            {"reject", ActionKind::kReject}}};
/// Kubernetes' own limit of names; a seen is a hash.
constexpr size_t kNameMax = 253;
/// As many nodes no group has.
constexpr int64_t kSizeMax = 100'000;

/// A name where one has to be.
base::Status ReadName(const base::Field& field, std::string& name) {
  EVENKEEL_TRY(field.Text(name));
  return IsPlainName(name) ? base::Status() : field.Wrong("not the name of an object");
}

}  // namespace

std::string_view Name(ActionKind kind) { return std::ranges::find(kNames, kind, &decltype(kNames)::value_type::second)->first; }

bool IsPlainName(std::string_view text) {
  const auto plain = [](char c) { return base::IsAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == ':'; };
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
  const base::Field fields(&json, "request body");
  ActionRequest request;
  if (fields["action"].IsEmpty()) return fields["action"].Wrong("missing");
  EVENKEEL_TRY(fields["action"].Word<ActionKind>(request.kind, kNames));
  EVENKEEL_TRY(request.on_hub() ? ReadName(fields["namespace"], request.ns) : ReadName(fields["cluster"], request.cluster));
  EVENKEEL_TRY(ReadName(fields["name"], request.name));
  if (request.kind == ActionKind::kScale) {
    EVENKEEL_TRY(fields["size"].Required());
    EVENKEEL_TRY(fields["size"].Whole(request.size, 0, kSizeMax));
  }
  EVENKEEL_TRY(fields["seen"].Text(request.seen));
  EVENKEEL_TRY(fields["dryRun"].Flag(request.dry_run));
  if (!request.dry_run && request.seen.empty()) return fields["seen"].Wrong("missing: ask with dryRun first");
  if (request.seen.size() > kNameMax) return fields["seen"].Wrong("too long");
  return request;
}

}  // namespace evenkeel::dashboard
