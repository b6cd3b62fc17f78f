#include <pugixml.hpp>

#include "balancing/input/manifest_builder.h"
#include "balancing/input/xml_repair.h"
#include "balancing/model/messages.h"

namespace evenkeel::balancing {
namespace {

std::string_view LocalName(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

class XmlReader {
 public:
  XmlReader(const RepairedXml& xml, ManifestBuilder& builder) : xml_(xml), builder_(builder) {}

  base::Status Read(const pugi::xml_document& document);

 private:
  base::Status CheckAttributes(const pugi::xml_node& node);
  base::Status ReadSection(const pugi::xml_node& section);
  base::Status ReadNodeType(const pugi::xml_node& node_type);
  base::Status ReadNode(const pugi::xml_node& node);
  base::Status ReadRole(const pugi::xml_node& role);
  base::Status ReadOverrides(const pugi::xml_node& overrides, std::string_view node_type);
  base::Status ReadOverrideGroup(const pugi::xml_node& group, std::string_view node_type);
  base::Result<std::string_view> Attribute(const pugi::xml_node& node, const char* name) const;
  template <typename Visit>
  base::Status ForEachElement(const pugi::xml_node& parent, Visit visit) const;

  size_t Offset(const pugi::xml_node& node) const;
  std::unexpected<base::Error> Refused(const pugi::xml_node& node, const std::string& what) const {
    return builder_.Refused(Offset(node), what);
  }

  const RepairedXml& xml_;
  ManifestBuilder& builder_;
  std::vector<std::string_view> names_;  // kept for its memory
};

size_t XmlReader::Offset(const pugi::xml_node& node) const {
  // Of an element it is that of its name.
  const auto offset = static_cast<size_t>(std::max<ptrdiff_t>(node.offset_debug(), 0));
  return xml_.Original(node.type() == pugi::node_element && offset > 0 ? offset - 1 : offset);
}

base::Status XmlReader::CheckAttributes(const pugi::xml_node& node) {
  names_.clear();
  for (const pugi::xml_attribute& attribute : node.attributes()) names_.emplace_back(attribute.name());
  std::ranges::sort(names_);
  const auto twice = std::ranges::adjacent_find(names_);
  if (twice == names_.end()) return {};
  return Refused(node, "<" + OneLine(node.name()) + "> has the attribute " + OneLine(*twice) + " twice");
}

base::Result<std::string_view> XmlReader::Attribute(const pugi::xml_node& node, const char* name) const {
  const pugi::xml_attribute attribute = node.attribute(name);
  if (!attribute) return Refused(node, "<" + OneLine(node.name()) + "> has no attribute " + name);
  return std::string_view(attribute.value());
}

template <typename Visit>
base::Status XmlReader::ForEachElement(const pugi::xml_node& parent, Visit visit) const {
  for (const pugi::xml_node& child : parent.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
      return Refused(child, "unexpected text in <" + OneLine(parent.name()) + ">: " + OneLine(child.value()));
    }
    if (child.type() == pugi::node_element) EVENKEEL_TRY(visit(child, LocalName(child.name())));
  }
  return {};
}

base::Status XmlReader::Read(const pugi::xml_document& document) {
  constexpr std::string_view kRoots[] = {"ClusterManifest", "FabricSettings", "Settings",       "Section",
                                         "NodeTypes",       "NodeType",       "Infrastructure", "NodeList"};
  std::vector<pugi::xml_node> open;
  for (pugi::xml_node child = document.last_child(); child; child = child.previous_sibling()) {
    if (child.type() != pugi::node_element) continue;
    if (std::ranges::find(kRoots, LocalName(child.name())) == std::end(kRoots)) {
      return Refused(child,
                     "<" + OneLine(child.name()) + ">: expected <ClusterManifest>, <FabricSettings>, <Section> or <NodeTypes>");
    }
    open.push_back(child);
  }
  while (!open.empty()) {
    const pugi::xml_node node = open.back();
    open.pop_back();
    EVENKEEL_TRY(CheckAttributes(node));
    const std::string_view name = LocalName(node.name());
    if (name == "Section") EVENKEEL_TRY(ReadSection(node));
    if (name == "NodeType") EVENKEEL_TRY(ReadNodeType(node));
    if (name == "Node") EVENKEEL_TRY(ReadNode(node));
    if (name == "Role" && node.attribute("RoleNodeCount")) EVENKEEL_TRY(ReadRole(node));
    for (pugi::xml_node child = node.last_child(); child; child = child.previous_sibling()) {
      if (child.type() == pugi::node_element) open.push_back(child);
    }
  }
  return {};
}

base::Status XmlReader::ReadSection(const pugi::xml_node& section) {
  EVENKEEL_ASSIGN(const std::string_view name, Attribute(section, "Name"));
  return ForEachElement(section, [&](const pugi::xml_node& child, std::string_view element) -> base::Status {
    if (element != "Parameter") {
      builder_.Warn(Offset(child), "<" + OneLine(element) + "> in a section is left out; expected <Parameter>");
      return {};
    }
    EVENKEEL_ASSIGN(const std::string_view parameter, Attribute(child, "Name"));
    EVENKEEL_ASSIGN(const std::string_view value, Attribute(child, "Value"));
    return builder_.Set(name, parameter, value, Offset(child));
  });
}

base::Status XmlReader::ReadNodeType(const pugi::xml_node& node_type) {
  EVENKEEL_ASSIGN(const std::string_view type, Attribute(node_type, "Name"));
  builder_.AddNodeType(type);
  return ForEachElement(node_type, [&](const pugi::xml_node& child, std::string_view element) -> base::Status {
    if (element == kOverridesSection) return ReadOverrides(child, type);
    const bool capacities = element == "Capacities";
    if (!capacities && element != "PlacementProperties") return {};
    return ForEachElement(child, [&](const pugi::xml_node& entry, std::string_view) -> base::Status {
      EVENKEEL_ASSIGN(const std::string_view name, Attribute(entry, "Name"));
      EVENKEEL_ASSIGN(const std::string_view value, Attribute(entry, "Value"));
      return capacities ? builder_.SetCapacity(type, name, value, Offset(entry))
                        : builder_.SetProperty(type, name, value, Offset(entry));
    });
  });
}

base::Status XmlReader::ReadNode(const pugi::xml_node& node) {
  EVENKEEL_ASSIGN(const std::string_view name, Attribute(node, "NodeName"));
  const auto text = [&](const char* attribute) { return std::string(node.attribute(attribute).value()); };
  return builder_.AddNode({.name = std::string(name),
                           .node_type = text("NodeTypeRef"),
                           .fault_domain = text("FaultDomain"),
                           .upgrade_domain = text("UpgradeDomain")},
                          Offset(node));
}

// How many nodes of a type Azure has made.
base::Status XmlReader::ReadRole(const pugi::xml_node& role) {
  EVENKEEL_ASSIGN(const std::string_view type, Attribute(role, "NodeTypeRef"));
  EVENKEEL_ASSIGN(const std::string_view count, Attribute(role, "RoleNodeCount"));
  return builder_.SetNodeCount(type, count, Offset(role));
}

base::Status XmlReader::ReadOverrides(const pugi::xml_node& overrides, std::string_view node_type) {
  return ForEachElement(overrides, [&](const pugi::xml_node& group, std::string_view name) -> base::Status {
    const bool per_metric = name == "MetricBalancingThresholdsPerNodeType" || name == "MetricActivityThresholdsPerNodeType";
    if (per_metric) return ReadOverrideGroup(group, node_type);
    return builder_.SetOverride(node_type, name, {}, group.child_value(), Offset(group));
  });
}

base::Status XmlReader::ReadOverrideGroup(const pugi::xml_node& group, std::string_view node_type) {
  const std::string_view group_name = LocalName(group.name());
  const std::string_view expected =
      group_name == "MetricBalancingThresholdsPerNodeType" ? "BalancingThreshold" : "ActivityThreshold";
  return ForEachElement(group, [&](const pugi::xml_node& entry, std::string_view element) -> base::Status {
    if (element != expected) {
      return Refused(
          entry, "<" + OneLine(element) + "> in <" + std::string(group_name) + ">: expected <" + std::string(expected) + ">");
    }
    if (entry.first_child())
      return Refused(entry, "<" + std::string(expected) + "> must be empty; its number is the attribute Value");
    EVENKEEL_ASSIGN(const std::string_view metric, Attribute(entry, "Name"));
    EVENKEEL_ASSIGN(const std::string_view value, Attribute(entry, "Value"));
    return builder_.SetOverride(node_type, group_name, metric, value, Offset(entry));
  });
}

}  // namespace

base::Status ReadXmlManifest(std::string_view text, ManifestBuilder& builder) {
  EVENKEEL_ASSIGN(RepairedXml xml, RepairXml(text, builder));
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer_inplace(xml.text.data(), xml.text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    const auto offset = static_cast<size_t>(std::max<ptrdiff_t>(parsed.offset, 0));
    return builder.Refused(xml.Original(offset), std::string("invalid XML: ") + parsed.description());
  }
  return XmlReader(xml, builder).Read(document);
}

}  // namespace evenkeel::balancing
