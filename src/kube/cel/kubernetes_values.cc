// Quantities, URLs and semantic versions. Follows: kubernetes@1.36
// staging/src/k8s.io/apiserver/pkg/cel/library/{quantity,urls,semverlib}.go
#include <charconv>

#include "kube/cel/library.h"
#include "kube/cel/library_values.h"

namespace evenkeel::kube::cel {
namespace {

Value MakeQuantity(Arena& arena, Quantity amount, bool exact) {
  return Value::Pointer(Kind::kQuantity, arena.New<QuantityValue>(QuantityValue{amount, exact}));
}

Value ToQuantity(const Call& call) {
  const auto amount = Quantity::Parse(call.args[0].text());
  if (!amount) return MakeError(call.arena, amount.error().message());
  const Quantity most = Quantity::FromInt(INT64_MAX);
  return MakeQuantity(call.arena, *amount, *amount != most && -*amount != most);
}

bool IsInteger(const QuantityValue& quantity) {
  return quantity.exact && Quantity::FromInt(quantity.amount.Value()) == quantity.amount;
}

Quantity AmountOf(const Value& value) {
  return value.Is(Kind::kInt) ? Quantity::FromInt(value.int_value()) : value.as<QuantityValue>().amount;
}

int Order(const Call& call) {
  const Quantity &a = call.args[0].as<QuantityValue>().amount, &b = call.args[1].as<QuantityValue>().amount;
  return a < b ? -1 : b < a ? 1 : 0;
}

Value AddUp(const Call& call) {
  return MakeQuantity(call.arena, AmountOf(call.args[0]) + AmountOf(call.args[1]), call.args[0].as<QuantityValue>().exact);
}
Value Subtract(const Call& call) {
  return MakeQuantity(call.arena, AmountOf(call.args[0]) - AmountOf(call.args[1]), call.args[0].as<QuantityValue>().exact);
}

void AddQuantity(Library& library) {
  library.AddFoldable("quantity", "(string) kubernetes.Quantity", ToQuantity, Cost::kTraverse);
  library.Add(
      "isQuantity", "(string) bool",
      [](const Call& call) { return Value::Bool(Quantity::Parse(call.args[0].text()).has_value()); }, Cost::kTraverse);
  library.Add("isLessThan", "kubernetes.Quantity.(kubernetes.Quantity) bool",
              [](const Call& call) { return Value::Bool(Order(call) < 0); });
  library.Add("isGreaterThan", "kubernetes.Quantity.(kubernetes.Quantity) bool",
              [](const Call& call) { return Value::Bool(Order(call) > 0); });
  library.Add("compareTo", "kubernetes.Quantity.(kubernetes.Quantity) int",
              [](const Call& call) { return Value::Int(Order(call)); });
  library.Add("isInteger", "kubernetes.Quantity.() bool",
              [](const Call& call) { return Value::Bool(IsInteger(call.args[0].as<QuantityValue>())); });
  library.Add("asInteger", "kubernetes.Quantity.() int", [](const Call& call) {
    const QuantityValue& quantity = call.args[0].as<QuantityValue>();
    return IsInteger(quantity) ? Value::Int(quantity.amount.Value()) : Value::Error("cannot convert value to integer");
  });
  library.Add("asApproximateFloat", "kubernetes.Quantity.() double",
              [](const Call& call) { return Value::Double(call.args[0].as<QuantityValue>().amount.ApproximateValue()); });
  library.Add("sign", "kubernetes.Quantity.() int", [](const Call& call) {
    const Quantity& amount = call.args[0].as<QuantityValue>().amount;
    return Value::Int(amount < Quantity() ? -1 : amount.IsZero() ? 0 : 1);
  });
  for (const std::string_view other : {"kubernetes.Quantity", "int"}) {
    library.Add("add", fmt::format("kubernetes.Quantity.({}) kubernetes.Quantity", other), AddUp);
    library.Add("sub", fmt::format("kubernetes.Quantity.({}) kubernetes.Quantity", other), Subtract);
  }
}

Value ToUrl(const Call& call) {
  const auto url = ParseUrl(call.args[0].text(), call.arena);
  if (!url)
    return MakeError(call.arena, fmt::format("URL parse error during conversion from string: {}", url.error().message()));
  return Value::Pointer(Kind::kUrl, call.arena.New<UrlValue>(*url));
}

/// Percent escapes and plus signs; false where an escape is broken.
bool UnescapeQuery(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%') {
      int code = 0;
      if (text.size() - i < 3) return false;
      const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16);
      if (error != std::errc() || end != text.data() + i + 3 || text[i + 1] == '-') return false;
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return true;
}

Value QueryOf(const Call& call) {
  std::string_view query = call.args[0].as<UrlValue>().query;
  std::vector<std::pair<std::string, std::vector<Value>>> found;
  std::map<std::string, size_t> places;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (part.empty() || part.find(';') != std::string_view::npos) continue;
    const size_t equals = part.find('=');
    std::string key, value;
    if (!UnescapeQuery(part.substr(0, equals), key)) continue;
    if (equals != std::string_view::npos && !UnescapeQuery(part.substr(equals + 1), value)) continue;
    const auto [place, fresh] = places.emplace(key, found.size());
    if (fresh) found.emplace_back(key, std::vector<Value>());
    found[place->second].second.push_back(MakeString(call.arena, value));
  }
  std::vector<Value> entries;
  for (const auto& [key, values] : found) {
    entries.push_back(MakeString(call.arena, key));
    entries.push_back(MakeList(values, call.arena));
  }
  return MakeMap(entries, call.arena);
}

void AddUrl(Library& library) {
  library.AddFoldable("url", "(string) kubernetes.URL", ToUrl, Cost::kTraverse);
  library.Add(
      "isURL", "(string) bool",
      [](const Call& call) { return Value::Bool(ParseUrl(call.args[0].text(), call.arena).has_value()); }, Cost::kTraverse);
  const auto part = [&library](std::string_view name, Implementation run) {
    library.Add(name, "kubernetes.URL.() string", run);
  };
  part("getScheme", [](const Call& call) { return Value::String(call.args[0].as<UrlValue>().scheme); });
  part("getHost", [](const Call& call) { return Value::String(call.args[0].as<UrlValue>().host); });
  part("getHostname", [](const Call& call) { return Value::String(call.args[0].as<UrlValue>().hostname()); });
  part("getPort", [](const Call& call) { return Value::String(call.args[0].as<UrlValue>().port()); });
  part("getEscapedPath", [](const Call& call) { return Value::String(call.args[0].as<UrlValue>().escaped_path); });
  library.Add("getQuery", "kubernetes.URL.() map(string, list(string))", QueryOf);
}

Value ToSemver(const Call& call) {
  std::string_view text = call.args[0].text();
  if (call.args.size() > 1 && call.args[1].bool_value()) text = call.arena.Copy(NormalSemver(text));
  const auto version = ParseSemver(text);
  if (!version) return MakeError(call.arena, version.error().message());
  return Value::Pointer(Kind::kSemver, call.arena.New<SemverValue>(*version));
}
Value IsSemver(const Call& call) { return Value::Bool(!ToSemver(call).IsError()); }

int SemverOrder(const Call& call) { return CompareSemver(call.args[0].as<SemverValue>(), call.args[1].as<SemverValue>()); }

void AddSemver(Library& library) {
  for (const std::string_view arguments : {"(string)", "(string, bool)"}) {
    library.AddFoldable("semver", fmt::format("{} kubernetes.Semver", arguments), ToSemver, Cost::kTraverse);
    library.Add("isSemver", fmt::format("{} bool", arguments), IsSemver, Cost::kTraverse);
  }
  library.Add("isLessThan", "kubernetes.Semver.(kubernetes.Semver) bool",
              [](const Call& call) { return Value::Bool(SemverOrder(call) < 0); });
  library.Add("isGreaterThan", "kubernetes.Semver.(kubernetes.Semver) bool",
              [](const Call& call) { return Value::Bool(SemverOrder(call) > 0); });
  library.Add("compareTo", "kubernetes.Semver.(kubernetes.Semver) int",
              [](const Call& call) { return Value::Int(SemverOrder(call)); });
  library.Add("major", "kubernetes.Semver.() int",
              [](const Call& call) { return Value::Int(static_cast<int64_t>(call.args[0].as<SemverValue>().major)); });
  library.Add("minor", "kubernetes.Semver.() int",
              [](const Call& call) { return Value::Int(static_cast<int64_t>(call.args[0].as<SemverValue>().minor)); });
  library.Add("patch", "kubernetes.Semver.() int",
              [](const Call& call) { return Value::Int(static_cast<int64_t>(call.args[0].as<SemverValue>().patch)); });
}

}  // namespace

void AddKubernetesValues(Library& library) {
  if (library.Has(Extension::kQuantity)) AddQuantity(library);
  if (library.Has(Extension::kUrl)) AddUrl(library);
  if (library.Has(Extension::kSemver)) AddSemver(library);
}

bool SameLibraryValue(const Value& a, const Value& b) {
  switch (a.kind()) {
    case Kind::kQuantity:
      return a.as<QuantityValue>().amount == b.as<QuantityValue>().amount;
    case Kind::kIp:
    case Kind::kCidr: {
      const IpValue &x = a.as<IpValue>(), &y = b.as<IpValue>();
      return x.is_v6 == y.is_v6 && x.bytes == y.bytes && x.prefix == y.prefix;
    }
    case Kind::kUrl: {
      const UrlValue &x = a.as<UrlValue>(), &y = b.as<UrlValue>();
      return x.scheme == y.scheme && x.host == y.host && x.escaped_path == y.escaped_path && x.query == y.query;
    }
    case Kind::kSemver:
      return CompareSemver(a.as<SemverValue>(), b.as<SemverValue>()) == 0;
    case Kind::kFormat:
      return a.as<FormatValue>().name == b.as<FormatValue>().name;
    default:
      return &a.as<char>() == &b.as<char>();
  }
}

}  // namespace evenkeel::kube::cel
