// How the table of flags is put together; flags.h is what it is for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/autoscaler/options/flags.h"

namespace evenkeel::controllers::autoscaler {

/// Adds flags one by one. Default texts are read off Options, so that they cannot differ from what holds.
class FlagTable {
 public:
  using Type = base::OptionType;
  using Setter = std::function<base::Status(Options&, std::string_view)>;

  void Section(std::string_view name) { section_ = name; }
  void Bool(std::string_view name, bool Options::* field, std::string_view help) { Add(name, Type::kBool, field, help); }
  void Integer(std::string_view name, int64_t Options::* field, std::string_view help, int64_t min = 0) {
    Add(name, Type::kInteger, field, help, base::OptionRange<int64_t>{.min = min});
  }
  void Number(std::string_view name, double Options::* field, double max, std::string_view help) {
    Add(name, Type::kNumber, field, help, base::OptionRange<double>{0, max});
  }
  void Duration(std::string_view name, base::Duration Options::* field, std::string_view help) {
    Add(name, Type::kDuration, field, help);
  }
  void Text(std::string_view name, std::string Options::* field, std::string_view help) { Add(name, Type::kText, field, help); }
  void List(std::string_view name, std::vector<std::string> Options::* field, std::string_view help);
  void Multi(std::string_view name, std::vector<std::string> Options::* field, std::string_view help);
  /// `parse` answers the value.
  template <typename T, typename Parse>
  void Parsed(std::string_view name, std::string_view text, std::string_view text_1_26, T Options::* field, Parse parse,
              std::string_view help) {
    const Setter set = [field, parse](Options& options, std::string_view given) -> base::Status {
      EVENKEEL_ASSIGN(options.*field, parse(given));
      return {};
    };
    Custom(name, Type::kText, text, text_1_26, set, help);
  }
  /// Made of parts; errors get the flag's name put in front. The default text is that of 1.37, then 1.26.
  void Custom(std::string_view name, Type type, std::string_view text, std::string_view text_1_26, Setter set,
              std::string_view help);
  /// Checked by its type, without effect; `why` it has none.
  void Ignored(std::string_view name, Type type, std::string_view default_text, std::string_view why);

  std::vector<Flag> Take() { return std::move(flags_); }

 private:
  template <typename T, typename... Range>
  void Add(std::string_view name, Type type, T Options::* field, std::string_view help, Range... range) {
    const Setter set = [field, range...](Options& options, std::string_view text) {
      return base::ReadOption(text, options.*field, range...);
    };
    Custom(name, type, base::OptionText(now_.*field), base::OptionText(then_.*field), set, help);
  }

  Options now_, then_ = DefaultsFor(Compat::k1_26);  // defaults of 1.37 and of 1.26
  std::string section_;
  std::vector<Flag> flags_;
};

std::vector<Flag> MakeFlagTable();

}  // namespace evenkeel::controllers::autoscaler
