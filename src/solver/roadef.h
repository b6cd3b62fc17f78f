// The files of the ROADEF/EURO 2012 challenge (Google's machine reassignment): a model, an assignment, and what they mean as a
// Problem. Sources: the challenge's subject; formats as its published instances have them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solver/problem.h"

namespace evenkeel::solver {

struct RoadefInstance {
  Problem problem;  ///< objects are processes, sorted by service
  /// By object: which process of the files it is.
  std::vector<int32_t> process_of;
};

/// `model` and `initial` are the texts, `model_file` and `initial_file` their names for errors. kBadRequest names file, line
/// and what is wrong: a text that is no number or ends too early, an index out of range, an initial assignment that breaks a
/// rule.
base::Result<RoadefInstance> ReadRoadef(std::string_view model, const std::string& model_file, std::string_view initial,
                                        const std::string& initial_file);

/// One machine per process. kBadRequest as above.
base::Result<std::vector<NodeId>> ReadRoadefAssignment(const RoadefInstance& instance, std::string_view text,
                                                       const std::string& file);
/// The text of an assignment file.
std::string WriteRoadefAssignment(const RoadefInstance& instance, std::span<const NodeId> assignment);

}  // namespace evenkeel::solver
