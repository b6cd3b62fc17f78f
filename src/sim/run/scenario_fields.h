// How scenario files are read: strictly, field by field. Only scenario*.cc include this.
#pragma once

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/field.h"
#include "base/utf8.h"

namespace evenkeel::sim {

struct Scenario;

/// Reads the fields of one object; remembers which, so that the others can be refused.
class Fields {
 public:
  explicit Fields(base::Field object) : object_(std::move(object)) {}

  std::unexpected<base::Error> Wrong(std::string_view what) const { return object_.Wrong(what); }
  std::unexpected<base::Error> Wrong(std::string_view field, std::string_view what) const { return object_[field].Wrong(what); }
  base::Status IsObject() const { return object_.IsObject(); }

  base::Field Take(std::string_view field) {
    known_.insert(field);
    return object_[field];
  }

  base::Status Text(std::string_view field, std::string& value) {
    const base::Field given = Take(field);
    if (given && given.IsEmpty()) return given.Wrong("an empty text");
    return given.Text(value);
  }
  template <typename Number>
  base::Status Whole(std::string_view field, int64_t low, int64_t high, Number& value) {
    const base::Field given = Take(field);
    int64_t number = 0;
    EVENKEEL_TRY(given.Whole(number, low, high));
    if (given) value = static_cast<Number>(number);
    return {};
  }
  template <typename Wait>
  base::Status Time(std::string_view field, base::Duration low, base::Duration high, Wait& value) {
    return Take(field).Wait(value, low, high);
  }
  base::Status Share(std::string_view field, double& value) { return Take(field).Number(value, 0, 1); }

  /// "all" or a list of some of `choices`.
  base::Status Names(std::string_view field, const std::set<std::string>& choices, bool may_be_all,
                     std::vector<std::string>& names) {
    const base::Field given = Take(field);
    if (!given) return {};
    names.clear();
    if (may_be_all && given.value().is_string() && given.value().get_string() == "all") {
      names.assign(choices.begin(), choices.end());
      return {};
    }
    if (!given.value().is_array()) return given.Wrong(may_be_all ? "not a list of names, nor all" : "not a list of names");
    return given.ForEach([&](const base::Field& item) -> base::Status {
      const std::string name = item && item.value().is_string() ? std::string(item.value().get_string()) : "";
      if (!choices.contains(name)) {
        return given.Wrong(fmt::format("\"{}\" is not one of {}", base::OneLine(name), fmt::join(choices, ", ")));
      }
      if (std::ranges::find(names, name) != names.end()) return given.Wrong(fmt::format("\"{}\" is there twice", name));
      names.push_back(name);
      return {};
    });
  }

  base::Status NothingElse() const {
    return object_.ForEachMember([&](std::string_view key, const base::Field&) -> base::Status {
      if (known_.contains(key)) return {};
      return Wrong(fmt::format("\"{}\" is not known: there are {}", base::OneLine(key), fmt::join(known_, ", ")));
    });
  }

 private:
  base::Field object_;
  std::set<std::string_view> known_;
};

/// What scenario_parts.h describes.
base::Status ReadParts(Fields& fields, Scenario& scenario);

}  // namespace evenkeel::sim
