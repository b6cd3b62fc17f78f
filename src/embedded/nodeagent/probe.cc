#include "embedded/nodeagent/probe.h"

#include <algorithm>
#include <charconv>

namespace evenkeel::embedded::nodeagent {
namespace {

using base::Code;
using base::Fail;
using base::Find;
using base::FindArray;
using base::FindInt;
using base::FindString;
using base::Json;

base::Result<int> ResolvePort(const Json* port, const Json& container) {
  if (port == nullptr) return Fail(Code::kInvalid, "the probe names no port");
  int64_t number = 0;
  if (const auto* name = port->if_string()) {
    const std::string_view text(*name);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      number = 0;
      for (const Json& item : FindArray(container, {"ports"})) {
        if (FindString(item, {"name"}) == text) number = FindInt(item, {"containerPort"});
      }
      if (number == 0) return Fail(Code::kInvalid, fmt::format("the container has no port named \"{}\"", text));
    }
  } else if (port->is_int64()) {
    number = port->get_int64();
  } else if (port->is_uint64()) {
    number = static_cast<int64_t>(std::min<uint64_t>(port->get_uint64(), 1u << 20));
  }
  if (number < 1 || number > 65535) return Fail(Code::kInvalid, fmt::format("port {} is not between 1 and 65535", number));
  return static_cast<int>(number);
}

}  // namespace

base::Result<ProbeAction> DecodeAction(const Json& handler, const Json& container, const std::string& host) {
  ProbeAction action;
  if (const Json* exec = Find(handler, {"exec"})) {
    action.kind = ProbeAction::Kind::kExec;
    action.command = base::FindTexts(*exec, {"command"});
    if (action.command.empty()) return Fail(Code::kInvalid, "the exec handler has no command");
    return action;
  }
  const bool http = Find(handler, {"httpGet"}) != nullptr;
  const Json* target = http ? Find(handler, {"httpGet"}) : Find(handler, {"tcpSocket"});
  if (target == nullptr) return Fail(Code::kInvalid, "only exec, httpGet and tcpSocket handlers are supported");
  action.kind = http ? ProbeAction::Kind::kHttp : ProbeAction::Kind::kTcp;
  action.host = FindString(*target, {"host"}, host);
  if (action.host.empty()) action.host = host;
  action.scheme = FindString(*target, {"scheme"}, "HTTP");
  action.path = FindString(*target, {"path"}, "/");
  if (!action.path.starts_with('/')) action.path.insert(0, "/");
  for (const Json& header : FindArray(*target, {"httpHeaders"})) {
    action.headers.emplace_back(FindString(header, {"name"}), FindString(header, {"value"}));
  }
  EVENKEEL_ASSIGN(action.port, ResolvePort(Find(*target, {"port"}), container));
  return action;
}

base::Result<ProbeSpec> DecodeProbe(const Json& probe, const Json& container, const std::string& host) {
  ProbeSpec spec;
  EVENKEEL_ASSIGN(spec.action, DecodeAction(probe, container, host));
  const auto seconds = [&](std::string_view key, int64_t fallback, int64_t least) {
    return std::chrono::seconds(std::clamp<int64_t>(FindInt(probe, {key}, fallback), least, 86400 * 365));
  };
  spec.initial_delay = seconds("initialDelaySeconds", 0, 0);
  spec.period = seconds("periodSeconds", 10, 1);
  spec.timeout = seconds("timeoutSeconds", 1, 1);
  spec.success_threshold = static_cast<int>(std::clamp<int64_t>(FindInt(probe, {"successThreshold"}, 1), 1, 1 << 20));
  spec.failure_threshold = static_cast<int>(std::clamp<int64_t>(FindInt(probe, {"failureThreshold"}, 3), 1, 1 << 20));
  if (Find(probe, {"terminationGracePeriodSeconds"}) != nullptr) {
    spec.grace_seconds = FindInt(probe, {"terminationGracePeriodSeconds"});
  }
  return spec;
}

std::optional<bool> ProbeTracker::Record(bool success) {
  run_ = run_ > 0 && success == last_ ? run_ + 1 : 1;
  last_ = success;
  const int threshold = success ? success_ : failure_;
  if (run_ < threshold) return std::nullopt;
  run_ = threshold;  // never overflows
  return success;
}

}  // namespace evenkeel::embedded::nodeagent
