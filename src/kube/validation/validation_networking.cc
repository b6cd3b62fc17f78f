// Rules of what is said about networks (kubernetes@1.36:pkg/apis/networking/validation). Nothing here enforces it.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "kube/object.h"
#include "kube/validation/validation_rules.h"

namespace evenkeel::kube::validation {
namespace {

using base::Json;
using base::JsonArray;
using base::JsonObject;

struct Range {
  std::array<unsigned char, 16> bytes{};
  int family = AF_INET;
  int length = 0;

  bool Contains(const Range& other) const {
    if (family != other.family) return false;
    for (int bit = 0; bit < length; ++bit) {
      const unsigned mask = 0x80u >> (bit % 8);
      if ((bytes.at(bit / 8) & mask) != (other.bytes.at(bit / 8) & mask)) return false;
    }
    return true;
  }
};

std::optional<Range> ParseRange(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const std::string address(text.substr(0, slash));
  const std::string_view length = text.substr(slash + 1);
  Range range;
  range.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (inet_pton(range.family, address.c_str(), range.bytes.data()) != 1) return std::nullopt;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), range.length);
  const bool digits = std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; });
  if (error != std::errc() || end != length.data() + length.size() || !digits) return std::nullopt;
  if (length.size() > 1 && length[0] == '0') return std::nullopt;
  if (range.length > (range.family == AF_INET ? 32 : 128)) return std::nullopt;
  return range;
}

std::optional<Range> CheckRange(std::string_view text, const FieldPath& path, Causes& causes) {
  auto range = ParseRange(text);
  if (!range) causes.push_back(InvalidText(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
  return range;
}

void Block(const Json& block, const FieldPath& path, Causes& causes) {
  if (Text(block, "cidr").empty()) return causes.push_back(RequiredValue(path.Field("cidr")));
  const auto range = CheckRange(Text(block, "cidr"), path.Field("cidr"), causes);
  const JsonArray& excepts = List(block, "except");
  const FieldPath list = path.Field("except");
  for (size_t i = 0; i < excepts.size(); ++i) {
    if (!excepts[i].is_string()) continue;
    const auto except = CheckRange(excepts[i].get_string(), list.Index(i), causes);
    if (range && except && (!range->Contains(*except) || except->length <= range->length)) {
      causes.push_back(InvalidValue(list.Index(i), excepts[i], "must be a strict subset of `cidr`"));
    }
  }
}

void Peer(const Json& peer, const FieldPath& path, Causes& causes) {
  int count = 0;
  for (const char* key : {"podSelector", "namespaceSelector"}) {
    const Json* selector = Member(peer, key);
    if (selector == nullptr) continue;
    ++count;
    LabelSelector(*selector, path.Field(key), causes);
  }
  const Json* block = Member(peer, "ipBlock");
  if (block != nullptr) Block(*block, path.Field("ipBlock"), causes);
  if (count == 0 && block == nullptr) causes.push_back(RequiredValue(path, "must specify a peer"));
  if (count > 0 && block != nullptr) {
    causes.push_back(ForbiddenValue(path, "may not specify both ipBlock and another peer"));
  }
}

void PolicyPort(const Json& entry, const FieldPath& path, Causes& causes) {
  const FieldPath end_path = path.Field("endPort");
  const Json* port = entry.if_object() == nullptr ? nullptr : entry.get_object().if_contains("port");
  const Json* end = Has(entry, "endPort") ? entry.get_object().if_contains("endPort") : nullptr;
  if (port == nullptr || port->is_null()) {
    if (end != nullptr) causes.push_back(InvalidValue(end_path, *end, "may not be specified when `port` is not specified"));
    return;
  }
  PortOrName(*port, path.Field("port"), causes);
  if (end == nullptr) return;
  if (port->is_string()) {
    causes.push_back(InvalidValue(end_path, *end, "may not be specified when `port` is non-numeric"));
    return;
  }
  if (Number(entry, "endPort") < Number(entry, "port")) {
    causes.push_back(InvalidValue(end_path, *port, "must be greater than or equal to `port`"));
  }
  Port(*end, end_path, causes);
}

void Rules(const Json& spec, std::string_view direction, std::string_view peers, const FieldPath& path, Causes& causes) {
  const JsonArray& rules = List(spec, direction);
  const FieldPath list = path.Field(direction);
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldPath rule = list.Index(i);
    const FieldPath ports = rule.Field("ports"), others = rule.Field(peers);
    const JsonArray& allowed = List(rules[i], "ports");
    for (size_t k = 0; k < allowed.size(); ++k) PolicyPort(allowed[k], ports.Index(k), causes);
    const JsonArray& whom = List(rules[i], peers);
    for (size_t k = 0; k < whom.size(); ++k) Peer(whom[k], others.Index(k), causes);
  }
}

void NetworkPolicy(const Json& object, Causes& causes) {
  static const Json kNothing = JsonObject{};
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json* present = Member(object, "spec");
  const Json& spec = present == nullptr ? kNothing : *present;
  if (const Json* selector = Member(spec, "podSelector")) LabelSelector(*selector, path.Field("podSelector"), causes);
  Rules(spec, "ingress", "from", path, causes);
  Rules(spec, "egress", "to", path, causes);
  const JsonArray& types = List(spec, "policyTypes");
  const FieldPath types_path = path.Field("policyTypes");
  if (types.size() > 2) {
    return causes.push_back(InvalidValue(types_path, Json(types), "may not specify more than two policyTypes"));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "Ingress" || types[i] == "Egress") continue;
    causes.push_back(UnsupportedValue(types_path.Index(i), types[i], {"Egress", "Ingress"}));
  }
}

/// "" or a host with at most one "*", which stands for its first label.
void Host(std::string_view host, const FieldPath& path, Causes& causes) {
  if (host.empty()) return;
  if (IsIpAddress(host)) return causes.push_back(InvalidText(path, host, "must be a DNS name, not an IP address"));
  if (host.contains('*')) {
    if (host.starts_with("*.") && CheckDnsSubdomain(host.substr(2)).empty()) return;
    return causes.push_back(InvalidText(
        path, host,
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower "
        "case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used "
        R"(for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))"));
  }
  const std::string problem = CheckDnsSubdomain(host);
  if (!problem.empty()) causes.push_back(InvalidText(path, host, problem));
}

void Backend(const Json& backend, const FieldPath& path, Causes& causes) {
  const Json* service = Member(backend, "service");
  const Json* resource = Member(backend, "resource");
  if (service != nullptr && resource != nullptr) {
    return causes.push_back(InvalidText(path, "", "cannot set both resource and service backends"));
  }
  if (service == nullptr && resource == nullptr) {
    return causes.push_back(InvalidText(path, "", "resource or service backend is required"));
  }
  if (resource != nullptr) {
    const FieldPath at = path.Field("resource");
    for (const char* key : {"kind", "name"}) {
      if (Text(*resource, key).empty()) causes.push_back(RequiredValue(at.Field(key), std::string(key) + " is required"));
    }
    return;
  }
  const FieldPath at = path.Field("service");
  const std::string_view name = Text(*service, "name");
  if (name.empty()) {
    causes.push_back(RequiredValue(at.Field("name")));
  } else if (const std::string problem = CheckDns1035Label(name); !problem.empty()) {
    causes.push_back(InvalidText(at.Field("name"), name, problem));
  }
  const Json* port = Member(*service, "port");
  const std::string_view port_name = port == nullptr ? "" : Text(*port, "name");
  const bool numbered = port != nullptr && Number(*port, "number") != 0;
  const FieldPath port_path = at.Field("port");
  if (!port_name.empty() && numbered) {
    causes.push_back(InvalidText(path, "", "cannot set both port name & port number"));
  } else if (!port_name.empty()) {
    const std::string problem = CheckPortName(port_name);
    if (!problem.empty()) causes.push_back(InvalidText(port_path.Field("name"), port_name, problem));
  } else if (numbered) {
    Port(Json(Number(*port, "number")), port_path.Field("number"), causes);
  } else {
    causes.push_back(RequiredValue(path, "port name or number is required"));
  }
}

void HttpPath(const Json& entry, const FieldPath& at, Causes& causes) {
  const std::string_view path = Text(entry, "path"), type = Text(entry, "pathType");
  const FieldPath path_path = at.Field("path");
  if (type.empty()) causes.push_back(RequiredValue(at.Field("pathType"), "pathType must be specified"));
  if (!path.starts_with('/') && (type == "Exact" || type == "Prefix" || !path.empty())) {
    causes.push_back(InvalidText(path_path, path, "must be an absolute path"));
  }
  if (type == "Exact" || type == "Prefix") {
    for (const std::string_view part : {"//", "/./", "/../", "%2f", "%2F"}) {
      if (path.find(part) == path.npos) continue;
      causes.push_back(InvalidText(path_path, path, "must not contain '" + std::string(part) + "'"));
    }
    for (const std::string_view end : {"/..", "/."}) {
      if (path.ends_with(end)) causes.push_back(InvalidText(path_path, path, "cannot end with '" + std::string(end) + "'"));
    }
  }
  static const Json kNothing = JsonObject{};
  const Json* backend = Member(entry, "backend");
  Backend(backend == nullptr ? kNothing : *backend, at.Field("backend"), causes);
}

void Ingress(const Json& object, Causes& causes) {
  static const Json kNothing = JsonObject{};
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  const Json* present = Member(object, "spec");
  const Json& spec = present == nullptr ? kNothing : *present;
  const JsonArray& rules = List(spec, "rules");
  const Json* fallback = Member(spec, "defaultBackend");
  if (rules.empty() && fallback == nullptr) {
    causes.push_back(InvalidValue(path, spec, "either `defaultBackend` or `rules` must be specified"));
  }
  if (fallback != nullptr) Backend(*fallback, path.Field("defaultBackend"), causes);
  if (const std::string_view name = Text(spec, "ingressClassName"); !name.empty()) {
    const std::string problem = CheckDnsSubdomain(name);
    if (!problem.empty()) causes.push_back(InvalidText(path.Field("ingressClassName"), name, problem));
  }
  const FieldPath rules_path = path.Field("rules"), tls_path = path.Field("tls");
  for (size_t i = 0; i < rules.size(); ++i) {
    const FieldPath rule = rules_path.Index(i);
    Host(Text(rules[i], "host"), rule.Field("host"), causes);
    const Json* http = Member(rules[i], "http");
    if (http == nullptr) continue;
    const FieldPath http_path = rule.Field("http");
    const FieldPath paths_path = http_path.Field("paths");
    const JsonArray& paths = List(*http, "paths");
    if (paths.empty()) causes.push_back(RequiredValue(paths_path));
    for (size_t k = 0; k < paths.size(); ++k) HttpPath(paths[k], paths_path.Index(k), causes);
  }
  const JsonArray& certificates = List(spec, "tls");
  for (size_t i = 0; i < certificates.size(); ++i) {
    const FieldPath entry = tls_path.Index(i);
    const FieldPath hosts_path = entry.Field("hosts");
    const JsonArray& hosts = List(certificates[i], "hosts");
    for (size_t k = 0; k < hosts.size(); ++k) {
      if (hosts[k].is_string()) Host(hosts[k].get_string(), hosts_path.Index(k), causes);
    }
    const std::string_view secret = Text(certificates[i], "secretName");
    if (secret.empty()) continue;
    const std::string problem = CheckDnsSubdomain(secret);
    if (!problem.empty()) causes.push_back(InvalidText(entry.Field("secretName"), secret, problem));
  }
}

void IngressClass(const Json& object, Causes& causes) {
  constexpr size_t kControllerMax = 250;
  const FieldPath root;
  const FieldPath path = root.Field("spec");
  static const Json kNothing = JsonObject{};
  const Json* present = Member(object, "spec");
  const Json* spec = present == nullptr ? &kNothing : present;
  const std::string_view controller = Text(*spec, "controller");
  const FieldPath controller_path = path.Field("controller");
  if (controller.size() > kControllerMax) causes.push_back(TooLong(controller_path, kControllerMax));
  if (controller.empty()) {
    causes.push_back(RequiredValue(controller_path));
  } else {
    const size_t slash = controller.find('/');
    if (slash == controller.npos || slash + 1 == controller.size() || !CheckDnsSubdomain(controller.substr(0, slash)).empty()) {
      causes.push_back(InvalidText(controller_path, controller, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    }
  }
  const Json* parameters = Member(*spec, "parameters");
  if (parameters == nullptr) return;
  const FieldPath at = path.Field("parameters");
  for (const char* key : {"kind", "name"}) {
    if (Text(*parameters, key).empty()) causes.push_back(RequiredValue(at.Field(key), std::string(key) + " is required"));
  }
  const bool namespaced = Text(*parameters, "scope") == "Namespace";
  const std::string_view ns = Text(*parameters, "namespace");
  if (namespaced && ns.empty()) {
    causes.push_back(RequiredValue(at.Field("namespace"), "`parameters.scope` is set to 'Namespace'"));
  } else if (!namespaced && !ns.empty()) {
    causes.push_back(ForbiddenValue(at.Field("namespace"), "`parameters.scope` is set to 'Cluster'"));
  }
}

}  // namespace

void AddressRange(std::string_view text, const FieldPath& path, Causes& causes) { CheckRange(text, path, causes); }

void ReachableAddress(std::string_view text, const FieldPath& path, Causes& causes) {
  const Causes::size_type before = causes.size();
  Address(text, path, causes);
  if (causes.size() > before) return;
  static const auto kSpecial = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"127.0.0.0/8", "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
       {"::1/128", "may not be in the loopback range (127.0.0.0/8, ::1/128)"},
       {"169.254.0.0/16", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
       {"fe80::/10", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"},
       {"224.0.0.0/24", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"},
       {"ff02::/16", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"}});
  const auto address = ParseRange(std::string(text) + (text.contains(':') ? "/128" : "/32"));
  if (!address) return;
  if (std::ranges::all_of(address->bytes, [](unsigned char byte) { return byte == 0; })) {
    causes.push_back(InvalidText(path, text, "may not be unspecified (" + std::string(text) + ")"));
  }
  for (const auto& [range, problem] : kSpecial) {
    if (ParseRange(range)->Contains(*address)) causes.push_back(InvalidText(path, text, problem));
  }
}

void NewObject(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.group != "networking.k8s.io" || resource.kind != "Ingress") return;
  constexpr std::string_view kAnnotation = "kubernetes.io/ingress.class";
  static const Json kNothing = JsonObject{};
  const Json* metadata = Member(object, "metadata");
  const JsonObject& annotations = Fields(metadata == nullptr ? kNothing : *metadata, "annotations");
  const Json* annotated = annotations.if_contains(kAnnotation);
  const Json* spec = Member(object, "spec");
  if (annotated == nullptr || !annotated->is_string() || spec == nullptr || !Has(*spec, "ingressClassName")) return;
  if (std::string_view(annotated->get_string()) == Text(*spec, "ingressClassName")) return;
  causes.push_back(InvalidValue(FieldPath("annotations").Field(kAnnotation), *annotated,
                                "must match `ingressClassName` when both are specified"));
}

void Networking(const Resource& resource, const Json& object, Causes& causes) {
  if (resource.group != "networking.k8s.io") return;
  if (resource.kind == "NetworkPolicy") NetworkPolicy(object, causes);
  if (resource.kind == "Ingress") Ingress(object, causes);
  if (resource.kind == "IngressClass") IngressClass(object, causes);
}

}  // namespace evenkeel::kube::validation
