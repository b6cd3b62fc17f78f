#include "balancing/input/manifest.h"

#include "balancing/input/manifest_builder.h"
#include "balancing/input/utf16.h"
#include "balancing/model/messages.h"
#include "balancing/model/settings_table.h"
#include "base/text.h"
#include "base/utf8.h"

namespace evenkeel::balancing {
namespace {

// Who has made a hundred slips has seen enough.
constexpr size_t kWarningsMax = 100;
// A node type of Azure has at most a hundred or a thousand.
constexpr int64_t kNodesOfTypeMax = 10'000, kCountedNodesMax = 100'000;
constexpr int64_t kDomainsOfAzure = 5;
constexpr std::string_view kNodeCount = "number of nodes";
constexpr std::string_view kCapacities = "Capacities";
constexpr std::string_view kProperties = "PlacementProperties";

/// What the parameters of the section are named after.
ParameterKey KeyOf(const GivenSection& given) {
  for (const Parameter& parameter : Parameters()) {
    const bool same = given.node_type.empty() ? parameter.section == given.section && !parameter.per_node_type
                                              : parameter.per_node_type && parameter.name == given.section;
    if (same) return parameter.key;
  }
  return ParameterKey::kNone;
}

std::string Named(const std::string& file, const TextPosition& at) {
  return file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string Described(const std::string& file, const GivenSection& section, const GivenParameter& given) {
  const std::string type = section.node_type.empty() ? "" : "node type " + OneLine(section.node_type) + ": ";
  return Named(file, given.at) + ": " + type + section.section + "/" + OneLine(given.name) + ": ";
}

}  // namespace

std::string ManifestBuilder::Where(size_t offset) const { return Named(manifest_.file, lines_.At(offset)); }

std::unexpected<base::Error> ManifestBuilder::Refused(size_t offset, const std::string& what) const {
  return base::Fail(base::Code::kBadRequest, Where(offset) + ": " + what);
}

std::string_view ManifestBuilder::Keep(std::string_view text) {
  char* const place = static_cast<char*>(kept_.allocate(std::max<size_t>(text.size(), 1), 1));
  return {place, text.copy(place, text.size())};
}

base::Result<bool> ManifestBuilder::IsNew(std::string_view node_type, std::string_view section, std::string_view name,
                                          std::string_view value, size_t offset) {
  key_.clear();
  key_.append(node_type).append(1, '\0').append(section).append(1, '\0').append(name);
  const auto [entry, is_new] = seen_.try_emplace(Keep(key_));
  if (is_new) {
    entry->second = {Keep(value), offset};
    return true;
  }
  if (entry->second.first == value) return false;
  const std::string type = node_type.empty() ? "" : "node type " + OneLine(node_type) + ": ";
  return Refused(offset, type + OneLine(section) + (name.empty() ? "" : "/" + OneLine(name)) + ": given again; line " +
                             std::to_string(lines_.At(entry->second.second).line) + " has another value");
}

void ManifestBuilder::Remember(std::string_view node_type, std::string_view section, std::string_view name, size_t offset) {
  std::vector<GivenSection>& given = manifest_.given;
  if (given.empty() || given.back().section != section || given.back().node_type != node_type) {
    given.push_back({std::string(node_type), std::string(section), {}});
  }
  given.back().parameters.push_back({lines_.At(offset), std::string(name)});
}

NodeTypeDescription& ManifestBuilder::NodeType(std::string_view name) {
  const auto [entry, is_new] = node_types_.try_emplace(std::string(name), manifest_.node_types.size());
  if (is_new) manifest_.node_types.push_back({.name = std::string(name), .capacities = {}, .properties = {}});
  return manifest_.node_types[entry->second];
}

void ManifestBuilder::AddNodeType(std::string_view name) { NodeType(name); }

base::Status ManifestBuilder::AddNode(NodeDescription node, size_t offset) {
  if (node.name.empty()) return Refused(offset, "a node has no name");
  const auto [entry, is_new] = nodes_.try_emplace(node.name, manifest_.nodes.size());
  if (is_new) {
    manifest_.nodes.push_back(std::move(node));
  } else if (manifest_.nodes[entry->second] != node) {
    return Refused(offset, "node " + OneLine(node.name) + " is given again, with another type or other domains");
  }
  return {};
}

base::Status ManifestBuilder::SetNodeCount(std::string_view node_type, std::string_view count, size_t offset) {
  EVENKEEL_ASSIGN(const bool is_new, IsNew(node_type, kNodeCount, {}, count, offset));
  if (!is_new) return {};
  const std::string what = "node type " + OneLine(node_type) + ": " + std::string(kNodeCount) + ": ";
  int64_t nodes = 0;
  if (const auto read = base::ReadOption(base::Trimmed(count), nodes, {.min = 0, .max = kNodesOfTypeMax}); !read) {
    return Refused(offset, what + read.error().message());
  }
  counted_nodes_ += nodes;
  if (counted_nodes_ > kCountedNodesMax) {
    return Refused(offset, what + fmt::format("all types together have more than {}", kCountedNodesMax));
  }
  node_counts_.insert_or_assign(std::string(node_type), nodes);
  return {};
}

void ManifestBuilder::MakeNodes() {
  if (!manifest_.nodes.empty()) return;
  for (const auto& [type, count] : node_counts_) {
    for (int64_t i = 0; i < count; ++i) {
      const std::string domain = std::to_string(i % kDomainsOfAzure);
      manifest_.nodes.push_back({.name = "_" + type + "_" + std::to_string(i),
                                 .node_type = type,
                                 .fault_domain = "fd:/" + domain,
                                 .upgrade_domain = domain});
    }
  }
}

base::Status ManifestBuilder::Set(std::string_view section, std::string_view name, std::string_view value, size_t offset) {
  if (KnowsSection(section)) {
    EVENKEEL_ASSIGN(const bool is_new, IsNew({}, section, name, value, offset));
    if (!is_new) return {};
  }
  const auto warning = SetParameter(manifest_.settings, section, name, value);
  if (!warning) return Refused(offset, warning.error().message());
  if (!warning->empty()) {
    Warn(offset, *warning);
  } else if (KnowsSection(section)) {
    Remember({}, section, name, offset);
  }
  return {};
}

base::Status ManifestBuilder::SetOverride(std::string_view node_type, std::string_view group, std::string_view metric,
                                          std::string_view value, size_t offset) {
  EVENKEEL_ASSIGN(const bool is_new, IsNew(node_type, group, metric, value, offset));
  if (!is_new) return {};
  const auto warning = SetNodeTypeParameter(manifest_.settings, node_type, group, metric, value);
  if (!warning) return Refused(offset, warning.error().message());
  if (!warning->empty()) {
    Warn(offset, *warning);
  } else {
    Remember(node_type, group, metric, offset);
  }
  return {};
}

base::Status ManifestBuilder::SetCapacity(std::string_view node_type, std::string_view metric, std::string_view value,
                                          size_t offset) {
  EVENKEEL_ASSIGN(const bool is_new, IsNew(node_type, kCapacities, metric, value, offset));
  if (!is_new) return {};
  int64_t amount = 0;
  if (const auto read = base::ReadOption(base::Trimmed(value), amount, {.min = 0}); !read) {
    const std::string what = "node type " + OneLine(node_type) + ": capacity " + OneLine(metric) + ": ";
    return Refused(offset, what + read.error().message());
  }
  NodeType(node_type).capacities.insert_or_assign(std::string(metric), amount);
  return {};
}

base::Status ManifestBuilder::SetProperty(std::string_view node_type, std::string_view name, std::string_view value,
                                          size_t offset) {
  EVENKEEL_TRY(IsNew(node_type, kProperties, name, value, offset));
  NodeType(node_type).properties.insert_or_assign(std::string(name), std::string(value));
  return {};
}

void ManifestBuilder::Warn(size_t offset, const std::string& what) {
  if (offset >= warnings_end_) {
    ++warnings_left_out_;
    return;
  }
  warnings_.emplace_back(offset, what);
  if (warnings_.size() >= 2 * kWarningsMax) KeepFirstWarnings();
}

void ManifestBuilder::KeepFirstWarnings() {
  std::ranges::stable_sort(warnings_, {}, &std::pair<size_t, std::string>::first);
  if (warnings_.size() <= kWarningsMax) return;
  warnings_left_out_ += warnings_.size() - kWarningsMax;
  warnings_.resize(kWarningsMax);
  warnings_end_ = warnings_.back().first;
}

Manifest ManifestBuilder::Take() {
  MakeNodes();
  KeepFirstWarnings();
  for (const auto& [offset, what] : warnings_) manifest_.warnings.push_back(Where(offset) + ": " + what);
  if (warnings_left_out_ > 0) {
    manifest_.warnings.push_back(manifest_.file + ": " + std::to_string(warnings_left_out_) + " more warnings");
  }
  return std::move(manifest_);
}

base::Result<Manifest> ReadManifest(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string converted;
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    const bool little = text.starts_with("\xFF\xFE");
    auto read = FromUtf16(text.substr(2), little);
    if (!read) return ManifestBuilder(text, file).Refused(0, "begins as UTF-16, but is not");
    converted = std::move(*read);
    text = converted;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  ManifestBuilder builder(text, file);
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return builder.Refused(zero, "contains a zero byte; the file must be UTF-8");
  }
  if (const size_t wrong = base::FindNotUtf8(text); wrong != std::string_view::npos) return builder.Refused(wrong, "not UTF-8");
  const size_t first = text.find_first_not_of(base::kBlanks);
  if (first == std::string_view::npos) return builder.Refused(0, "empty; expected ClusterManifest.xml or ClusterConfig.json");
  if (text[first] == '<') {
    EVENKEEL_TRY(ReadXmlManifest(text, builder));
  } else if (text[first] == '{' || text[first] == '"') {
    EVENKEEL_TRY(ReadJsonManifest(text, builder));
  } else {
    return builder.Refused(first, "neither XML (<...) nor JSON ({... or \"fabricSettings\": ...)");
  }
  return builder.Take();
}

base::Result<std::vector<std::string>> CheckNames(const Manifest& manifest, const Cluster& cluster) {
  std::map<std::string_view, const Metric*> metrics;
  std::vector<std::string_view> reported, types(cluster.node_types.begin(), cluster.node_types.end());
  for (const Metric& metric : cluster.metrics) {
    if (metric.services == 0) continue;
    metrics[metric.name] = &metric;
    reported.push_back(metric.name);
  }
  std::vector<std::string> warnings;
  // The nearest name is looked for only where somebody reads it.
  const auto unknown = [&file = manifest.file](const GivenSection& section, const GivenParameter& given,
                                               const std::string& what, std::string_view name,
                                               std::span<const std::string_view> names) {
    return Described(file, section, given) + what + NearestNameHint(name, names);
  };
  const auto warn = [&](const auto&... of) {
    if (warnings.size() < kWarningsMax) warnings.push_back(unknown(of...));
  };
  for (const GivenSection& section : manifest.given) {
    const ParameterKey key = KeyOf(section);
    const bool type_is_known = section.node_type.empty() || std::ranges::find(types, section.node_type) != types.end();
    for (const GivenParameter& given : section.parameters) {
      constexpr const char* kNoSuchType = "no node has this type";
      if (!type_is_known) warn(section, given, kNoSuchType, section.node_type, types);
      if (key == ParameterKey::kNodeType && std::ranges::find(types, given.name) == types.end()) {
        warn(section, given, kNoSuchType, given.name, types);
      }
      if (key != ParameterKey::kMetric || metrics.contains(given.name)) continue;
      constexpr const char* kNoSuchMetric = "no service reports this metric";
      warn(section, given, kNoSuchMetric, given.name, reported);
    }
  }
  const bool per_type = std::ranges::any_of(manifest.given, [](const GivenSection& given) { return !given.node_type.empty(); });
  if (per_type && !PerNodeType(manifest.settings)) {
    warnings.push_back(
        manifest.file +
        ": rules of node types have no effect without SeparateBalancingStrategyPerNodeType and SubclusteringEnabled");
  }
  return warnings;
}

}  // namespace evenkeel::balancing
