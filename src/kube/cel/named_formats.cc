// Formats by name. Follows: kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/cel/library/format.go
#include "base/pattern.h"
#include "kube/cel/library.h"
#include "kube/cel/library_values.h"
#include "kube/formats.h"

namespace evenkeel::kube::cel {
namespace {

using Problems = std::vector<std::string>;

constexpr std::string_view kLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kLabel1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kSubdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr std::string_view kQualified = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

bool MatchesWhole(std::string_view text, std::string_view pattern) {
  const auto compiled = base::Pattern::Parse(fmt::format("^(?:{})$", pattern));
  // "$" without the flag m is the end of the text alone.
  return compiled && (*compiled)->Matches(text);
}

std::string PatternText(std::string_view message, std::string_view pattern, std::initializer_list<std::string_view> examples) {
  std::string text(message);
  text += " (";
  for (const std::string_view example : examples)
    text += fmt::format("{}'{}', ", &example == examples.begin() ? "e.g. " : " or ", example);
  return text + fmt::format("regex used for validation is '{}')", pattern);
}

void CheckLength(std::string_view text, size_t most, Problems& problems) {
  if (text.size() > most) problems.push_back(fmt::format("must be no more than {} bytes", most));
}

Problems CheckLabel(std::string_view text) {
  Problems problems;
  CheckLength(text, 63, problems);
  if (!MatchesWhole(text, kLabel)) {
    problems.push_back(
        PatternText("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
                    "must start and end with an alphanumeric character",
                    kLabel, {"my-name", "123-abc"}));
  }
  return problems;
}

Problems CheckLabel1035(std::string_view text) {
  Problems problems;
  CheckLength(text, 63, problems);
  if (!MatchesWhole(text, kLabel1035)) {
    problems.push_back(
        PatternText("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
                    "alphabetic character, and end with an alphanumeric character",
                    kLabel1035, {"my-name", "abc-123"}));
  }
  return problems;
}

Problems CheckSubdomain(std::string_view text) {
  Problems problems;
  CheckLength(text, 253, problems);
  if (!MatchesWhole(text, kSubdomain)) {
    problems.push_back(
        PatternText("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                    "'.', and must start and end with an alphanumeric character",
                    kSubdomain, {"example.com"}));
  }
  return problems;
}

/// A name that something is put behind: a dash at its end stands for that.
std::string MaskTrailingDash(std::string_view text) {
  std::string masked(text);
  if (masked.size() > 1 && masked.ends_with('-')) masked.replace(masked.size() - 2, 2, "a");
  return masked;
}
Problems CheckLabelPrefix(std::string_view text) { return CheckLabel(MaskTrailingDash(text)); }
Problems CheckLabel1035Prefix(std::string_view text) { return CheckLabel1035(MaskTrailingDash(text)); }
Problems CheckSubdomainPrefix(std::string_view text) { return CheckSubdomain(MaskTrailingDash(text)); }

Problems CheckQualifiedName(std::string_view text) {
  Problems problems;
  constexpr std::string_view kMessage =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  std::string_view name = text;
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {PatternText("a qualified name " + std::string(kMessage), kQualified, {"MyName", "my.name", "123-abc"}) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    if (slash == 0) {
      problems.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& problem : CheckSubdomain(text.substr(0, slash))) problems.push_back("prefix part " + problem);
    }
  }
  if (name.empty()) {
    problems.emplace_back("name part must be non-empty");
  } else if (name.size() > 63) {
    problems.emplace_back("name part must be no more than 63 bytes");
  }
  if (!MatchesWhole(name, kQualified))
    problems.push_back("name part " + PatternText(kMessage, kQualified, {"MyName", "my.name", "123-abc"}));
  return problems;
}

Problems CheckLabelValue(std::string_view text) {
  Problems problems;
  CheckLength(text, 63, problems);
  const std::string pattern = fmt::format("({})?", kQualified);
  if (!MatchesWhole(text, pattern)) {
    problems.push_back(
        PatternText("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
                    "'.', and must start and end with an alphanumeric character",
                    pattern, {"MyValue", "my_value", "12345"}));
  }
  return problems;
}

Problems CheckUri(std::string_view text) {
  Arena arena;
  const auto url = ParseUrl(text, arena);
  return url ? Problems() : Problems{url.error().message()};
}

Problems CheckUuid(std::string_view text) {
  constexpr std::string_view kUuid = "(?i)[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{12}";
  return MatchesWhole(text, kUuid) ? Problems() : Problems{"does not match the UUID format"};
}

Problems CheckByte(std::string_view text) {
  return MatchesWhole(text, "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?") ? Problems()
                                                                                              : Problems{"invalid base64"};
}
Problems CheckDate(std::string_view text) { return FindFormat("date")(text) ? Problems() : Problems{"invalid date"}; }
Problems CheckDateTime(std::string_view text) {
  return FindFormat("datetime")(text) ? Problems() : Problems{"invalid datetime"};
}

constexpr std::array kFormats = {
    FormatValue{"dns1123Label", CheckLabel},
    FormatValue{"dns1123Subdomain", CheckSubdomain},
    FormatValue{"dns1035Label", CheckLabel1035},
    FormatValue{"qualifiedName", CheckQualifiedName},
    FormatValue{"dns1123LabelPrefix", CheckLabelPrefix},
    FormatValue{"dns1123SubdomainPrefix", CheckSubdomainPrefix},
    FormatValue{"dns1035LabelPrefix", CheckLabel1035Prefix},
    FormatValue{"labelValue", CheckLabelValue},
    FormatValue{"uri", CheckUri},
    FormatValue{"uuid", CheckUuid},
    FormatValue{"byte", CheckByte},
    FormatValue{"date", CheckDate},
    FormatValue{"datetime", CheckDateTime},
};

template <size_t kIndex>
Value FormatAt(const Call&) {
  return Value::Pointer(Kind::kFormat, &kFormats[kIndex]);
}
template <size_t... kIndices>
void AddEach(Library& library, std::index_sequence<kIndices...>) {
  (library.Add(fmt::format("format.{}", kFormats[kIndices].name), "() kubernetes.NamedFormat", FormatAt<kIndices>), ...);
}

Value Validate(const Call& call) {
  std::vector<Value> items;
  for (const std::string& problem : call.args[0].as<FormatValue>().check(call.args[1].text()))
    items.push_back(MakeString(call.arena, problem));
  return items.empty() ? Value::None() : Value::Some(MakeList(items, call.arena), call.arena);
}

}  // namespace

const FormatValue* FindNamedFormat(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &FormatValue::name);
  return found == kFormats.end() ? nullptr : found;
}

void AddFormats(Library& library) {
  AddEach(library, std::make_index_sequence<kFormats.size()>());
  library.Add("format.named", "(string) optional_type(kubernetes.NamedFormat)", [](const Call& call) {
    const FormatValue* const format = FindNamedFormat(call.args[0].text());
    return format == nullptr ? Value::None() : Value::Some(Value::Pointer(Kind::kFormat, format), call.arena);
  });
  library.Add("validate", "kubernetes.NamedFormat.(string) optional_type(list(string))", Validate, Cost::kTraverseTwice);
}

}  // namespace evenkeel::kube::cel
