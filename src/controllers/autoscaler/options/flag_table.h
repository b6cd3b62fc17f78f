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
  using Setter = std::function<base::Status(Options&, std::string_view)>;

  FlagTable();

  void Section(std::string_view name) { section_ = name; }
  void Bool(std::string_view name, bool Options::* field, std::string_view help);
  void Integer(std::string_view name, int64_t Options::* field, std::string_view help, int64_t min = 0);
  void Number(std::string_view name, double Options::* field, double max, std::string_view help);
  void Duration(std::string_view name, base::Duration Options::* field, std::string_view help);
  void Text(std::string_view name, std::string Options::* field, std::string_view help);
  void List(std::string_view name, std::vector<std::string> Options::* field, std::string_view help);
  void Multi(std::string_view name, std::vector<std::string> Options::* field, std::string_view help);
  /// Made of parts; errors get the flag's name put in front. The default text is that of 1.37, then 1.26.
  void Custom(std::string_view name, FlagType type, std::string_view text, std::string_view text_1_26, Setter set,
              std::string_view help);
  /// Checked by its type, without effect; `why` it has none.
  void Ignored(std::string_view name, FlagType type, std::string_view default_text, std::string_view why);

  std::vector<Flag> Take() { return std::move(flags_); }

 private:
  void Add(std::string_view name, FlagType type, std::string default_text, std::string default_text_1_26, Setter set,
           std::string_view help);

  Options now_, then_;  // defaults of 1.37 and of 1.26
  std::string section_;
  std::vector<Flag> flags_;
};

std::vector<Flag> MakeFlagTable();

}  // namespace evenkeel::controllers::autoscaler
