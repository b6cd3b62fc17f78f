#include "dashboard/access/identity.h"

#include <spdlog/fmt/fmt.h>

namespace evenkeel::dashboard {
namespace {

constexpr const char* kEverybody = "system:authenticated";

}  // namespace

Identity TokenHolder() {
  return {.user = "evenkeel:dashboard-token", .groups = {"evenkeel:dashboard-admins", kEverybody}, .uid = ""};
}

Identity ReadTokenHolder() {
  return {.user = "evenkeel:dashboard-read-token", .groups = {"evenkeel:dashboard-viewers", kEverybody}, .uid = ""};
}

std::string Question::ToText() const {
  std::string text = fmt::format("{} {}.{}", verb, resource, kAccessGroup);
  if (!name.empty()) text += " " + (ns.empty() ? "" : ns + "/") + name;
  return text;
}

Question MayLook() { return MayOnMember("get"); }

Question MayOnMember(std::string_view verb, std::string_view member) {
  return {.verb = std::string(verb), .resource = "members", .ns = "", .name = std::string(member)};
}

Question MayOnRollout(std::string_view verb, std::string_view ns, std::string_view name) {
  return {.verb = std::string(verb), .resource = "rollouts", .ns = std::string(ns), .name = std::string(name)};
}

Question MayOnSessions(std::string_view verb) {
  return {.verb = std::string(verb), .resource = "sessions", .ns = "", .name = ""};
}

}  // namespace evenkeel::dashboard
