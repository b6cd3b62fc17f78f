#include "controllers/autoscaler/options/flag_table.h"

#include "controllers/autoscaler/options/flag_values.h"

namespace evenkeel::controllers::autoscaler {

void FlagTable::List(std::string_view name, std::vector<std::string> Options::* field, std::string_view help) {
  const Setter set = [field](Options& options, std::string_view text) -> base::Status {
    for (std::string& item : SplitList(text)) (options.*field).push_back(std::move(item));
    return {};
  };
  Custom(name, Type::kList, "", "", set, help);
}

void FlagTable::Multi(std::string_view name, std::vector<std::string> Options::* field, std::string_view help) {
  const Setter set = [field](Options& options, std::string_view text) -> base::Status {
    if (text.empty()) return base::WrongOption(text, "must not be empty");
    (options.*field).emplace_back(text);
    return {};
  };
  Custom(name, Type::kMulti, "", "", set, help);
}

void FlagTable::Custom(std::string_view name, Type type, std::string_view text, std::string_view text_1_26, Setter set,
                       std::string_view help) {
  Flag& flag = flags_.emplace_back();
  flag.name = name;
  flag.type = type;
  flag.topic = section_;
  flag.help = help;
  flag.default_text = text;
  flag.default_text_1_26 = text_1_26;
  flag.set = [option = "--" + flag.name, set = std::move(set)](Options& options, std::string_view given) -> base::Status {
    const base::Status status = set(options, given);
    if (!status) return base::Fail(status.error().Wrap(option));
    return {};
  };
}

void FlagTable::Ignored(std::string_view name, Type type, std::string_view default_text, std::string_view why) {
  const Setter set = [type](Options&, std::string_view text) { return base::CheckOption(text, type); };
  Custom(name, type, default_text, default_text, set, why);
  flags_.back().no_effect = why;
}

}  // namespace evenkeel::controllers::autoscaler
