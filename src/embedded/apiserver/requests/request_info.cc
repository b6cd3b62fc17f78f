#include "embedded/apiserver/requests/request_info.h"

#include <algorithm>

#include "base/json.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace evenkeel::embedded::apiserver {
namespace {

int HexDigit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::vector<std::string_view> TrimmedParts(std::string_view text, char separator) {
  std::vector<std::string_view> parts = base::Split(text, separator);
  for (std::string_view& part : parts) part = base::Trimmed(part, " \t");
  return parts;
}

// One element of Accept, e.g. application/json;as=Table;v=v1;g=meta.k8s.io.
struct MediaRange {
  std::string_view type, as, version, group;
  double quality = 1;

  int Wildcards() const { return type == "*/*" ? 2 : type.ends_with("/*") ? 1 : 0; }
};

MediaRange ParseMediaRange(std::string_view text) {
  MediaRange range;
  for (const std::string_view part : TrimmedParts(text, ';')) {
    if (range.type.empty()) {
      range.type = part;
    } else if (part.starts_with("as=")) {
      range.as = part.substr(3);
    } else if (part.starts_with("v=")) {
      range.version = part.substr(2);
    } else if (part.starts_with("g=")) {
      range.group = part.substr(2);
    } else if (part.starts_with("q=")) {
      range.quality = base::ParseNumber<double>(part.substr(2)).value_or(range.quality);
    }
  }
  return range;
}

std::optional<Form> SpecialForm(const MediaRange& range) {
  const bool meta = range.group == "meta.k8s.io" && (range.version == "v1" || range.version == "v1beta1");
  if (range.as == "Table" && meta) return Form::kTable;
  if ((range.as == "PartialObjectMetadata" || range.as == "PartialObjectMetadataList") && meta) return Form::kPartial;
  if (range.as == "APIGroupDiscoveryList" && range.group == "apidiscovery.k8s.io" &&
      (range.version == "v2" || range.version == "v2beta1")) {
    return Form::kAggregatedDiscovery;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Unescape(std::string_view text, bool plus_is_space) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char letter = text[i];
    if (letter == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      letter = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (letter == '+' && plus_is_space) {
      letter = ' ';
    }
    if (letter == '\0') return std::nullopt;
    plain += letter;
  }
  if (!base::IsUtf8(plain)) return std::nullopt;
  return plain;
}

base::Result<Query> Query::Parse(std::string_view text) {
  Query query;
  if (text.empty()) return query;
  for (const std::string_view part : base::Split(text, '&')) {
    if (part.empty()) continue;
    const size_t at = part.find('=');
    auto name = Unescape(part.substr(0, at), true);
    auto value = at == part.npos ? std::optional<std::string>("") : Unescape(part.substr(at + 1), true);
    if (!name || !value)
      return base::Fail(base::Code::kBadRequest, "invalid query: broken escape in \"" + std::string(part) + "\"");
    query.values_.try_emplace(*std::move(name), *std::move(value));
  }
  return query;
}

std::string Query::Get(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

std::optional<bool> Query::FindFlag(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  const std::string value = base::Lower(found->second);
  return value != "false" && value != "0";
}

bool Query::Flag(const std::string& name) const { return FindFlag(name).value_or(false); }

base::Result<std::optional<int64_t>> Query::Integer(const std::string& name) const {
  const std::string text = Get(name);
  if (text.empty()) return std::nullopt;
  const auto value = base::ParseNumber<int64_t>(text);
  if (value) return value;
  return base::Fail(base::Code::kBadRequest, "query parameter " + name + ": \"" + text + "\" is not a whole number");
}

std::optional<std::vector<std::string>> PathParts(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::Split(path, '/')) {
    if (part.empty()) continue;
    auto plain = Unescape(part, false);
    if (!plain || plain->find('/') != plain->npos) return std::nullopt;
    parts.push_back(*std::move(plain));
  }
  return parts;
}

std::optional<ResourcePath> ParseResourcePath(const std::vector<std::string>& parts) {
  ResourcePath path;
  size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    path.version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    path.group = parts[1];
    path.version = parts[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  if (parts.size() > at + 1 && parts[at] == "watch") {
    path.watch = true;
    ++at;
  }
  // namespaces/NAME/status is about the namespace itself.
  const bool below = parts.size() - at >= 3 && parts[at] == "namespaces" &&
                     !(path.group.empty() && (parts[at + 2] == "status" || parts[at + 2] == "finalize"));
  if (below) {
    path.ns = parts[at + 1];
    at += 2;
  }
  const auto next = [&]() -> std::string { return at < parts.size() ? parts[at++] : ""; };
  path.plural = next();
  path.name = next();
  path.subresource = next();
  path.rest = next();
  return path;
}

base::Result<Wanted> NegotiateForm(std::string_view accept, const Offer& offer) {
  if (accept.empty()) return Wanted{};
  std::vector<MediaRange> ranges;
  for (const std::string_view element : TrimmedParts(accept, ',')) ranges.push_back(ParseMediaRange(element));
  std::ranges::stable_sort(ranges, {}, [](const MediaRange& range) { return std::pair(-range.quality, range.Wildcards()); });
  const auto offered = [&](Form form) { return std::ranges::find(offer.forms, form) != offer.forms.end(); };
  for (const MediaRange& range : ranges) {
    if (range.quality <= 0) continue;
    if (range.type == "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" ||
        range.type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf") {
      if (offered(Form::kOpenApiProtobuf)) return Wanted{.form = Form::kOpenApiProtobuf};
      continue;
    }
    Wanted wanted;
    if (range.type == "application/yaml" && !offer.watch) {
      wanted.encoding = Encoding::kYaml;
    } else if (range.type == kProtobufType) {
      wanted.encoding = Encoding::kProtobuf;
    } else if (range.type != "application/json" && range.type != "*/*" && range.type != "application/*") {
      continue;
    }
    if (!range.as.empty()) {
      const auto form = SpecialForm(range);
      if (!form || !offered(*form)) continue;
      wanted.form = *form;
      wanted.version = range.version;
    }
    if (wanted.encoding == Encoding::kProtobuf) {
      const bool partial = wanted.form == Form::kPartial && offer.protobuf != Offer::Protobuf::kNever;
      if (!partial && (wanted.form != Form::kObject || offer.protobuf != Offer::Protobuf::kAll)) continue;
    }
    return wanted;
  }
  std::string types = offer.watch ? "application/json;stream=watch" : "application/json, application/yaml";
  if (offer.protobuf != Offer::Protobuf::kNever)
    types.append(", ").append(kProtobufType).append(offer.watch ? ";stream=watch" : "");
  return base::Fail(base::Code::kNotAcceptable, "only the following media types are accepted: " + types);
}

bool AcceptsGzip(std::string_view accept_encoding) {
  return std::ranges::any_of(TrimmedParts(accept_encoding, ','), [](std::string_view coding) {
    return base::Trimmed(coding.substr(0, coding.find(';')), " \t") == "gzip";
  });
}

}  // namespace evenkeel::embedded::apiserver
