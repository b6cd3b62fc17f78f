// Structured logs: a constant message and key/value pairs, one JSON-free logfmt line each, through spdlog.
//   log::Info("cluster changed owner", {{"cluster", name}, {"from", old_owner}, {"to", new_owner}});
// Errors mean that somebody should look; what a retry mends is a warning. Values of keys that carry secrets (token, password,
// authorization, *-key-data) are written as <redacted>.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace evenkeel::base::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

struct Field {
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, std::integral auto v) : key(k), value(std::to_string(v)) {}
  Field(std::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
  Field(std::string_view k, double v) : key(k), value(std::to_string(v)) {}
  Field(std::string_view k, const Error& v) : key(k), value(v.message()) {}
  std::string_view key;
  std::string value;
};
using Fields = std::initializer_list<Field>;

/// Lines go to standard error, or to `file` if given. Call once, before threads start; default is kInfo on standard error.
Status Configure(Level level, const std::string& file = "");
Result<Level> ParseLevel(std::string_view name);

void Debug(std::string_view message, Fields fields = {});
void Info(std::string_view message, Fields fields = {});
void Warn(std::string_view message, Fields fields = {});
void Error(std::string_view message, Fields fields = {});

}  // namespace evenkeel::base::log
