// How scenario files are read: strictly, field by field, with errors that name the field in one line. Only scenario*.cc include
// this.
#pragma once

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "base/utf8.h"

namespace evenkeel::sim {

struct Scenario;

/// Reads the fields of one object; remembers which, so that the others can be refused.
class Fields {
 public:
  Fields(const base::Json& object, std::string path, const std::string& source)
      : object_(object), path_(std::move(path)), source_(source) {}

  std::unexpected<base::Error> Wrong(std::string_view field, std::string_view what) const {
    const std::string at = path_.empty() || field.empty() ? path_ + std::string(field) : path_ + "." + std::string(field);
    return base::Fail(base::Code::kBadRequest,
                      fmt::format("{}: {}{}{}", source_, base::OneLine(at), at.empty() ? "" : ": ", what));
  }

  base::Status IsObject() const {
    if (object_.is_object()) return {};
    return Wrong("", "give fields and values");
  }

  /// Null when it is absent.
  const base::Json* Take(std::string_view field) {
    known_.insert(field);
    return base::Find(object_, {field});
  }

  base::Status Text(std::string_view field, std::string& value) {
    const base::Json* given = Take(field);
    if (given == nullptr) return {};
    if (!given->is_string() || given->get_string().empty()) return Wrong(field, "give a text");
    value = given->get_string();
    return {};
  }

  template <typename Number>
  base::Status Whole(std::string_view field, int64_t low, int64_t high, Number& value) {
    const base::Json* given = Take(field);
    if (given == nullptr) return {};
    boost::system::error_code error;
    const int64_t number = given->to_number<int64_t>(error);
    if (error || given->is_double() || number < low || number > high) {
      return Wrong(field, fmt::format("give a whole number from {} to {}", low, high));
    }
    value = static_cast<Number>(number);
    return {};
  }

  template <typename Value>
  base::Status Time(std::string_view field, base::Duration low, base::Duration high, Value& value) {
    const base::Json* given = Take(field);
    if (given == nullptr) return {};
    const auto parsed = given->is_string() ? base::ParseDuration(given->get_string()) : base::Fail(base::Code::kBadRequest, "");
    if (!parsed || *parsed < low || *parsed > high) {
      return Wrong(field, fmt::format("give a duration from {} to {}", base::FormatDuration(low), base::FormatDuration(high)));
    }
    value = *parsed;
    return {};
  }

  /// "all" or a list of some of `choices`.
  base::Status Names(std::string_view field, const std::set<std::string>& choices, bool may_be_all,
                     std::vector<std::string>& names) {
    const base::Json* given = Take(field);
    if (given == nullptr) return {};
    names.clear();
    if (may_be_all && given->is_string() && given->get_string() == "all") {
      names.assign(choices.begin(), choices.end());
      return {};
    }
    if (!given->is_array()) return Wrong(field, may_be_all ? "give a list of names, or all" : "give a list of names");
    for (const base::Json& entry : given->get_array()) {
      const std::string name = entry.is_string() ? std::string(entry.get_string()) : base::ToText(entry);
      if (!choices.contains(name))
        return Wrong(field, fmt::format("\"{}\" is not one of {}", base::OneLine(name), fmt::join(choices, ", ")));
      if (std::ranges::find(names, name) != names.end())
        return Wrong(field, fmt::format("\"{}\" is there twice", base::OneLine(name)));
      names.push_back(name);
    }
    return {};
  }

  base::Status NothingElse() const {
    for (const auto& entry : object_.get_object()) {
      if (!known_.contains(entry.key())) {
        return Wrong("", fmt::format("\"{}\" is not known: there are {}", base::OneLine(entry.key()), fmt::join(known_, ", ")));
      }
    }
    return {};
  }

  Fields Below(const base::Json& value, std::string_view field) const {
    return Fields(value, path_.empty() ? std::string(field) : path_ + "." + std::string(field), source_);
  }

 private:
  const base::Json& object_;
  const std::string path_;
  const std::string& source_;
  std::set<std::string_view> known_;
};

/// What scenario_parts.h describes.
base::Status ReadParts(Fields& fields, Scenario& scenario);

}  // namespace evenkeel::sim
