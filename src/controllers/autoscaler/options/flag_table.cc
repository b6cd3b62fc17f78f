#include "controllers/autoscaler/options/flag_table.h"

#include "base/utf8.h"
#include "controllers/autoscaler/options/flag_values.h"

namespace evenkeel::controllers::autoscaler {
namespace {

std::string BoolText(bool value) { return value ? "true" : "false"; }

std::unexpected<base::Error> WrongValue(std::string_view text, const std::string& what) {
  return base::Fail(base::Code::kBadRequest, "\"" + base::OneLine(text) + "\": " + what);
}

base::Result<base::Duration> ParseWait(std::string_view text) {
  const auto duration = base::ParseDuration(text);
  if (!duration) return WrongValue(text, "not a duration such as 10s or 1h30m");
  if (*duration < base::Duration{}) return WrongValue(text, "must not be negative");
  return *duration;
}

base::Status Check(FlagType type, std::string_view text) {
  switch (type) {
    case FlagType::kBool:
      EVENKEEL_TRY(ParseBool(text));
      break;
    case FlagType::kInteger:
      EVENKEEL_TRY(ParseInteger(text));
      break;
    case FlagType::kNumber:
      EVENKEEL_TRY(ParseNumber(text));
      break;
    case FlagType::kDuration:
      EVENKEEL_TRY(ParseWait(text));
      break;
    case FlagType::kText:
    case FlagType::kList:
    case FlagType::kMulti:
      break;
  }
  return {};
}

}  // namespace

FlagTable::FlagTable() : then_(DefaultsFor(Compat::k1_26)) {}

void FlagTable::Add(std::string_view name, FlagType type, std::string default_text, std::string default_text_1_26, Setter set,
                    std::string_view help) {
  Flag flag;
  flag.name = name;
  flag.type = type;
  flag.section = section_;
  flag.help = help;
  flag.default_text = std::move(default_text);
  flag.default_text_1_26 = std::move(default_text_1_26);
  flag.set = [option = "--" + flag.name, set = std::move(set)](Options& options, std::string_view text) -> base::Status {
    const base::Status status = set(options, text);
    if (!status) return base::Fail(status.error().Wrap(option));
    return {};
  };
  flags_.push_back(std::move(flag));
}

void FlagTable::Bool(std::string_view name, bool Options::* field, std::string_view help) {
  const Setter set = [field](Options& options, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(options.*field, ParseBool(text));
    return {};
  };
  Add(name, FlagType::kBool, BoolText(now_.*field), BoolText(then_.*field), set, help);
}

void FlagTable::Integer(std::string_view name, int64_t Options::* field, std::string_view help, int64_t min) {
  const Setter set = [field, min](Options& options, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(const int64_t value, ParseInteger(text));
    if (value < min) return WrongValue(text, "must be at least " + std::to_string(min));
    options.*field = value;
    return {};
  };
  Add(name, FlagType::kInteger, std::to_string(now_.*field), std::to_string(then_.*field), set, help);
}

void FlagTable::Number(std::string_view name, double Options::* field, double max, std::string_view help) {
  const Setter set = [field, max](Options& options, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(const double value, ParseNumber(text));
    if (value < 0 || value > max) return WrongValue(text, fmt::format("must be from 0 to {}", max));
    options.*field = value;
    return {};
  };
  Add(name, FlagType::kNumber, fmt::format("{}", now_.*field), fmt::format("{}", then_.*field), set, help);
}

void FlagTable::Duration(std::string_view name, base::Duration Options::* field, std::string_view help) {
  const Setter set = [field](Options& options, std::string_view text) -> base::Status {
    EVENKEEL_ASSIGN(options.*field, ParseWait(text));
    return {};
  };
  Add(name, FlagType::kDuration, base::ShortDuration(now_.*field), base::ShortDuration(then_.*field), set, help);
}

void FlagTable::Text(std::string_view name, std::string Options::* field, std::string_view help) {
  const Setter set = [field](Options& options, std::string_view text) -> base::Status {
    options.*field = text;
    return {};
  };
  Add(name, FlagType::kText, now_.*field, then_.*field, set, help);
}

void FlagTable::List(std::string_view name, std::vector<std::string> Options::* field, std::string_view help) {
  const Setter set = [field](Options& options, std::string_view text) -> base::Status {
    for (std::string& item : SplitList(text)) (options.*field).push_back(std::move(item));
    return {};
  };
  Add(name, FlagType::kList, "", "", set, help);
}

void FlagTable::Multi(std::string_view name, std::vector<std::string> Options::* field, std::string_view help) {
  const Setter set = [field](Options& options, std::string_view text) -> base::Status {
    if (text.empty()) return WrongValue(text, "must not be empty");
    (options.*field).emplace_back(text);
    return {};
  };
  Add(name, FlagType::kMulti, "", "", set, help);
}

void FlagTable::Custom(std::string_view name, FlagType type, std::string_view text, std::string_view text_1_26, Setter set,
                       std::string_view help) {
  Add(name, type, std::string(text), std::string(text_1_26), std::move(set), help);
}

void FlagTable::Ignored(std::string_view name, FlagType type, std::string_view default_text, std::string_view why) {
  const Setter set = [type](Options&, std::string_view text) { return Check(type, text); };
  Add(name, type, std::string(default_text), std::string(default_text), set, why);
  flags_.back().ignored = true;
}

}  // namespace evenkeel::controllers::autoscaler
