// What both kinds of manifests are read into: checks, remembers where things stand, collects warnings. manifest.h is the
// contract.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "balancing/input/manifest.h"
#include "balancing/input/text_position.h"

namespace evenkeel::balancing {

/// Offsets count in the text of the file.
class ManifestBuilder {
 public:
  ManifestBuilder(std::string_view text, const std::string& file) : lines_(text) { manifest_.file = file; }

  base::Status Set(std::string_view section, std::string_view name, std::string_view value, size_t offset);
  base::Status SetOverride(std::string_view node_type, std::string_view group, std::string_view metric, std::string_view value,
                           size_t offset);
  base::Status SetCapacity(std::string_view node_type, std::string_view metric, std::string_view value, size_t offset);
  base::Status SetProperty(std::string_view node_type, std::string_view name, std::string_view value, size_t offset);
  void AddNodeType(std::string_view name);
  /// The same node again is fine.
  base::Status AddNode(NodeDescription node, size_t offset);
  /// `count`: a whole number, as text. Refused: above 10,000, or more than 100,000 of all types together.
  base::Status SetNodeCount(std::string_view node_type, std::string_view count, size_t offset);

  /// The first kWarningsMax of the file are told; the rest is counted.
  void Warn(size_t offset, const std::string& what);
  std::unexpected<base::Error> Refused(size_t offset, const std::string& what) const;
  Manifest Take();

 private:
  std::string Where(size_t offset) const;
  void KeepFirstWarnings();
  void MakeNodes();
  /// Whether it is given for the first time; the same value again is fine.
  base::Result<bool> IsNew(std::string_view node_type, std::string_view section, std::string_view name, std::string_view value,
                           size_t offset);
  void Remember(std::string_view node_type, std::string_view section, std::string_view name, size_t offset);
  NodeTypeDescription& NodeType(std::string_view name);
  std::string_view Keep(std::string_view text);

  const LineIndex lines_;
  Manifest manifest_;
  Group<size_t> node_types_;                              // indexes in the manifest
  Group<size_t> nodes_;                                   // likewise
  Group<int64_t> node_counts_;                            // by type
  int64_t counted_nodes_ = 0;                             // of all
  std::vector<std::pair<size_t, std::string>> warnings_;  // by offset from time to time, when the later ones go
  size_t warnings_left_out_ = 0;
  size_t warnings_end_ = std::string_view::npos;  // nothing from this offset on is among the first
  // Node type, section and name, with zero bytes in between, -> value and where it stands. All of it is in one place and is
  // given back at once: a file may have hundreds of thousands.
  std::pmr::monotonic_buffer_resource kept_;
  std::pmr::unordered_map<std::string_view, std::pair<std::string_view, size_t>> seen_{&kept_};
  std::string key_;
};

base::Status ReadXmlManifest(std::string_view text, ManifestBuilder& builder);
base::Status ReadJsonManifest(std::string_view text, ManifestBuilder& builder);

}  // namespace evenkeel::balancing
