// What a request's line and headers mean: path, query, and which form of answer its Accept header wants.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace evenkeel::embedded::apiserver {

/// "%2F" -> "/"; nullopt for broken escapes and NUL.
std::optional<std::string> Unescape(std::string_view text, bool plus_is_space);

/// Query parameters; the first of a name counts.
class Query {
 public:
  /// kBadRequest for broken escapes.
  static base::Result<Query> Parse(std::string_view text);
  std::string Get(const std::string& name) const;
  bool Has(const std::string& name) const { return values_.contains(name); }
  /// Any value but "0" and "false" (in any case) is true, and so is a name without one; nullopt: the name is not there.
  std::optional<bool> FindFlag(const std::string& name) const;
  /// The same; false where the name is not there.
  bool Flag(const std::string& name) const;
  /// kBadRequest names the parameter.
  base::Result<std::optional<int64_t>> Integer(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

/// A path below /api/VERSION or /apis/GROUP/VERSION.
struct ResourcePath {
  std::string group, version, ns, plural, name, subresource;
  std::string rest;  ///< what follows the subresource
  bool watch =
      false;  ///< in the form from before ?watch=1, "/api/v1/watch/pods", which older clients of Ruby and JavaScript use
};
/// The unescaped parts of a path; nullopt for broken escapes. Empty parts are left out.
std::optional<std::vector<std::string>> PathParts(std::string_view path);
/// Nullopt when it does not lead to a resource.
std::optional<ResourcePath> ParseResourcePath(const std::vector<std::string>& parts);

enum class Form { kObject, kTable, kPartial, kAggregatedDiscovery, kOpenApiProtobuf };
enum class Encoding { kJson, kYaml, kProtobuf };

struct Wanted {
  Form form = Form::kObject;
  std::string version = "v1";  ///< of Table, PartialObjectMetadata or discovery
  Encoding encoding = Encoding::kJson;
};
/// What an endpoint can answer with, besides JSON.
struct Offer {
  std::vector<Form> forms{};  ///< besides the object itself
  /// Which answers there are in protocol buffers: of custom kinds only their metadata, of documents none.
  enum class Protobuf { kNever, kPartial, kAll } protobuf = Protobuf::kNever;
  bool watch = false;  ///< not in YAML
};
/// The form of an Accept header that can be answered: the first of the highest quality, exact types before wildcards.
/// kNotAcceptable. Source: kubernetes@1.36:staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go.
base::Result<Wanted> NegotiateForm(std::string_view accept, const Offer& offer);
/// Whether an Accept-Encoding header names gzip.
bool AcceptsGzip(std::string_view accept_encoding);

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

}  // namespace evenkeel::embedded::apiserver
