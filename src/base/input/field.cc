#include "base/input/field.h"

#include <cmath>

#include "base/utf8.h"

namespace evenkeel::base {
namespace {

template <typename T, typename Text>
std::string RangeText(std::string_view what, T least, T most, T any, const Text& text) {
  const bool open = most == any;
  if (open && least == std::numeric_limits<T>::lowest()) return std::string(what);
  return open ? fmt::format("{} of at least {}", what, text(least))
              : fmt::format("{} from {} to {}", what, text(least), text(most));
}

constexpr auto kAsItIs = [](auto number) { return fmt::format("{}", number); };

}  // namespace

Field::Field(const Json* value, std::string subject, std::string path, Code code)
    : Field(value, std::make_shared<const Subject>(std::move(subject), code), std::move(path)) {}

Field::Field(const Json* value, std::shared_ptr<const Subject> subject, std::string path)
    : value_(value == nullptr || value->is_null() ? nullptr : value), subject_(std::move(subject)), path_(std::move(path)) {}

Field Field::operator[](std::string_view key) const {
  return {*this ? Find(*value_, {key}) : nullptr, subject_, path_.empty() ? std::string(key) : path_ + "." + std::string(key)};
}

Field Field::Item(size_t index) const {
  const JsonArray* list = *this ? value_->if_array() : nullptr;
  return {list != nullptr ? list->if_contains(index) : nullptr, subject_, fmt::format("{}[{}]", path_, index)};
}

Field Field::Named(std::string_view key) const {
  return {*this ? Find(*value_, {key}) : nullptr, subject_, fmt::format("{}[\"{}\"]", path_, OneLine(key))};
}

std::unexpected<Error> Field::Wrong(std::string_view what) const {
  std::string message;
  for (const std::string_view part : {std::string_view(subject_->text), std::string_view(path_), what}) {
    if (!part.empty()) message += (message.empty() ? "" : ": ") + std::string(part);
  }
  std::ranges::replace_if(message, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  ErrorDetails details;
  details.causes.push_back({"FieldValueInvalid", std::string(what), path_});
  return Fail(Error(subject_->code, std::move(message), std::move(details)));
}

Status Field::Required(std::string_view why) const {
  if (*this) return {};
  return Wrong(why.empty() ? "missing" : "missing: " + std::string(why));
}

Status Field::Text(std::string& into) const {
  if (!*this) return {};
  if (!value_->is_string()) return Wrong("not a text");
  into = value_->get_string();
  return {};
}

Status Field::Flag(bool& into) const {
  if (!*this) return {};
  if (!value_->is_bool()) return Wrong("not true or false");
  into = value_->get_bool();
  return {};
}

Status Field::Whole(int64_t& into, int64_t least, int64_t most) const {
  if (!*this) return {};
  boost::system::error_code error;
  const auto number = value_->to_number<int64_t>(error);
  if (error || number < least || number > most) {
    return Wrong(RangeText("not a whole number", least, most, std::numeric_limits<int64_t>::max(), kAsItIs));
  }
  into = number;
  return {};
}

Status Field::Number(double& into, double least, double most) const {
  if (!*this) return {};
  const double number = value_->is_number() ? value_->to_number<double>() : std::nan("");
  // What is no number is in no range.
  if (!(number >= least && number <= most)) return Wrong(RangeText("not a number", least, most, kAny, kAsItIs));
  into = number;
  return {};
}

Status Field::Wait(Duration& into, Duration least, Duration most) const {
  if (!*this) return {};
  const auto parsed = ParseDuration(value_->is_string() ? std::string_view(value_->get_string()) : "");
  if (!parsed || *parsed < least || *parsed > most) {
    const bool any = least == Duration{} && most == Duration::max();
    return Wrong(any ? "not a duration such as 10m or 1h30m"
                     : RangeText("not a duration", least, most, Duration::max(), ShortDuration));
  }
  into = *parsed;
  return {};
}

Status Field::Instant(std::optional<Time>& into) const {
  if (!*this) return {};
  const auto parsed = ParseTime(value_->is_string() ? std::string_view(value_->get_string()) : "");
  if (!parsed) return Wrong("not an RFC 3339 time");
  into = *parsed;
  return {};
}

Status Field::Word(std::string& into, std::initializer_list<std::string_view> words) const {
  if (IsEmpty()) return {};
  if (!value_->is_string() || std::ranges::find(words, std::string_view(value_->get_string())) == words.end()) {
    return NoneOf(words);
  }
  into = value_->get_string();
  return {};
}

Status Field::IsObject() const {
  if (*this && value_->is_object()) return {};
  return Wrong("not an object");
}

Status Field::Texts(std::vector<std::string>& into) const {
  if (!*this) return {};
  into.clear();
  return ForEach([&](const Field& item) { return item.Text(into.emplace_back()); });
}

std::unexpected<Error> Field::NoneOf(std::span<const std::string_view> words) const {
  std::string text = value_->is_string() ? "\"" + OneLine(value_->get_string()) + "\" is not" : "not";
  for (size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? " " : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  }
  return Wrong(text);
}

}  // namespace evenkeel::base
