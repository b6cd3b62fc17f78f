#include "solver/roadef.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "solver/verify.h"

namespace evenkeel::solver {
namespace {

using base::Code;

/// Whole numbers one after the other, wherever lines end.
class Numbers {
 public:
  Numbers(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// In [low, high]. `what` is for the error.
  base::Result<int64_t> Next(int64_t low, int64_t high, std::string_view what) {
    SkipSpace();
    if (text_.empty()) return Fail(what, "the file ends here");
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    const auto length = static_cast<size_t>(end - text_.data());
    if (error != std::errc() || (length < text_.size() && !IsSpace(text_[length]))) {
      const size_t word = std::min(text_.find_first_of(" \t\r\n"), std::min<size_t>(text_.size(), 20));
      return Fail(what, "\"" + std::string(text_.substr(0, word)) + "\" is not a whole number");
    }
    text_.remove_prefix(length);
    if (value < low || value > high) {
      return Fail(what, std::to_string(value) + " is not between " + std::to_string(low) + " and " + std::to_string(high));
    }
    return value;
  }
  base::Status End() {
    SkipSpace();
    if (text_.empty()) return {};
    return base::Fail(Fail("the end", "there is more than that").error());
  }

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  void SkipSpace() {
    size_t at = 0;
    while (at < text_.size() && IsSpace(text_[at])) line_ += text_[at++] == '\n' ? 1 : 0;
    text_.remove_prefix(at);
  }
  base::Result<int64_t> Fail(std::string_view what, const std::string& why) const {
    return base::Fail(Code::kBadRequest, file_ + ":" + std::to_string(line_) + ": " + std::string(what) + ": " + why);
  }

  std::string_view text_;
  const std::string& file_;
  int64_t line_ = 1;
};

constexpr int64_t kMany = 1'000'000;
constexpr int64_t kAmount = int64_t{1} << 40;

/// The model's distances between machines, as classes of machines that are alike: big instances have thousands of machines and
/// few different rows.
class Distances {
 public:
  Distances(std::vector<std::vector<int32_t>> of) : of_(std::move(of)) {}

  void Into(Problem& problem) {
    problem.node_class.resize(of_.size());
    std::vector<size_t> examples;
    std::vector<int64_t> within;  // by class: from one of its machines to another
    for (size_t machine = 0; machine < of_.size(); ++machine) {
      size_t like = 0;
      while (like < examples.size() && !Alike(machine, examples[like])) ++like;
      problem.node_class[machine] = static_cast<int32_t>(like);
      if (like == examples.size()) {
        examples.push_back(machine);
        within.push_back(0);
      } else {
        within[like] = of_[machine][examples[like]];
      }
    }
    const auto classes = static_cast<int64_t>(examples.size());
    problem.node_move_cost = Matrix(classes, classes);
    for (int64_t from = 0; from < classes; ++from) {
      for (int64_t to = 0; to < classes; ++to) {
        problem.node_move_cost(from, to) = from == to ? within[from] : of_[examples[from]][examples[to]];
      }
    }
  }

 private:
  bool Alike(size_t a, size_t b) const {
    if (of_[a][b] != of_[b][a]) return false;
    for (size_t other = 0; other < of_.size(); ++other) {
      if (other != a && other != b && (of_[a][other] != of_[b][other] || of_[other][a] != of_[other][b])) return false;
    }
    return true;
  }

  std::vector<std::vector<int32_t>> of_;
};

/// Reads a model. The problem's objects are in the order of the file until Sort.
class ModelReader {
 public:
  ModelReader(std::string_view text, const std::string& file) : in_(text, file) {}

  base::Result<RoadefInstance> Read() {
    EVENKEEL_TRY(ReadResources());
    EVENKEEL_TRY(ReadMachines());
    EVENKEEL_TRY(ReadServices());
    EVENKEEL_TRY(ReadProcesses());
    EVENKEEL_TRY(ReadBalances());
    EVENKEEL_ASSIGN(problem_.object_move_weight, in_.Next(0, kAmount, "weight of process moves"));
    EVENKEEL_ASSIGN(problem_.group_move_weight, in_.Next(0, kAmount, "weight of service moves"));
    EVENKEEL_ASSIGN(problem_.node_move_weight, in_.Next(0, kAmount, "weight of machine moves"));
    EVENKEEL_TRY(in_.End());
    Sort();
    return RoadefInstance{std::move(problem_), std::move(order_)};
  }

 private:
  base::Status ReadResources() {
    EVENKEEL_ASSIGN(resources_, in_.Next(1, 1000, "number of resources"));
    for (int64_t resource = 0; resource < resources_; ++resource) {
      EVENKEEL_ASSIGN(const int64_t transient, in_.Next(0, 1, "whether a resource is transient"));
      EVENKEEL_ASSIGN(const int64_t weight, in_.Next(0, kAmount, "weight of a resource's load"));
      problem_.transient.push_back(transient == 1);
      problem_.hinges.push_back({"load " + std::to_string(resource), {{static_cast<MetricId>(resource), 1}}, {}, weight});
    }
    return {};
  }

  base::Status ReadMachines() {
    EVENKEEL_ASSIGN(machines_, in_.Next(1, kMany, "number of machines"));
    problem_.capacity = Matrix(machines_, resources_);
    std::vector<std::vector<int32_t>> distances(static_cast<size_t>(machines_));
    for (int64_t machine = 0; machine < machines_; ++machine) {
      EVENKEEL_ASSIGN(const int64_t neighbourhood, in_.Next(0, kMany, "neighbourhood of a machine"));
      EVENKEEL_ASSIGN(const int64_t location, in_.Next(0, kMany, "location of a machine"));
      problem_.neighbourhood.push_back(static_cast<int32_t>(neighbourhood));
      problem_.location.push_back(static_cast<int32_t>(location));
      problem_.neighbourhoods = std::max(problem_.neighbourhoods, problem_.neighbourhood.back() + 1);
      problem_.locations = std::max(problem_.locations, problem_.location.back() + 1);
      for (int64_t resource = 0; resource < resources_; ++resource) {
        EVENKEEL_ASSIGN(problem_.capacity(machine, resource), in_.Next(0, kAmount, "capacity of a machine"));
      }
      for (int64_t resource = 0; resource < resources_; ++resource) {
        EVENKEEL_ASSIGN(const int64_t safety, in_.Next(0, kAmount, "safety capacity of a machine"));
        problem_.hinges[resource].bound.push_back(safety);
      }
      for (int64_t other = 0; other < machines_; ++other) {
        EVENKEEL_ASSIGN(const int64_t distance, in_.Next(0, kMany, "cost of moving between machines"));
        distances[machine].push_back(static_cast<int32_t>(distance));
      }
    }
    Distances(std::move(distances)).Into(problem_);
    return {};
  }

  base::Status ReadServices() {
    EVENKEEL_ASSIGN(services_, in_.Next(1, kMany, "number of services"));
    for (int64_t service = 0; service < services_; ++service) {
      Group group;
      group.exclusive = true;
      EVENKEEL_ASSIGN(const int64_t spread, in_.Next(0, kMany, "least spread of a service"));
      group.min_spread = static_cast<int32_t>(spread);
      EVENKEEL_ASSIGN(const int64_t dependencies, in_.Next(0, services_, "number of a service's dependencies"));
      for (int64_t i = 0; i < dependencies; ++i) {
        EVENKEEL_ASSIGN(const int64_t needed, in_.Next(0, services_ - 1, "a service that another depends on"));
        group.depends_on.push_back(static_cast<GroupId>(needed));
      }
      problem_.groups.push_back(std::move(group));
    }
    return {};
  }

  base::Status ReadProcesses() {
    EVENKEEL_ASSIGN(const int64_t processes, in_.Next(1, kMany, "number of processes"));
    problem_.load = Matrix(processes, resources_);
    for (int64_t process = 0; process < processes; ++process) {
      EVENKEEL_ASSIGN(const int64_t service, in_.Next(0, services_ - 1, "service of a process"));
      problem_.group_of.push_back(static_cast<GroupId>(service));
      for (int64_t resource = 0; resource < resources_; ++resource) {
        EVENKEEL_ASSIGN(problem_.load(process, resource), in_.Next(0, kAmount, "need of a process"));
      }
      EVENKEEL_ASSIGN(const int64_t cost, in_.Next(0, kAmount, "cost of moving a process"));
      problem_.object_move_cost.push_back(cost);
    }
    return {};
  }

  base::Status ReadBalances() {
    EVENKEEL_ASSIGN(const int64_t balances, in_.Next(0, kMany, "number of balance costs"));
    for (int64_t balance = 0; balance < balances; ++balance) {
      EVENKEEL_ASSIGN(const int64_t first, in_.Next(0, resources_ - 1, "first resource of a balance cost"));
      EVENKEEL_ASSIGN(const int64_t second, in_.Next(0, resources_ - 1, "second resource of a balance cost"));
      EVENKEEL_ASSIGN(const int64_t target, in_.Next(0, kMany, "target of a balance cost"));
      EVENKEEL_ASSIGN(const int64_t weight, in_.Next(0, kAmount, "weight of a balance cost"));
      Hinge hinge;
      hinge.term = "balance " + std::to_string(balance);
      hinge.weight = weight;
      // target * (C1 - U1) - (C2 - U2), in usages.
      hinge.parts = {{static_cast<MetricId>(first), -target}, {static_cast<MetricId>(second), 1}};
      for (int64_t machine = 0; machine < machines_; ++machine) {
        hinge.bound.push_back(problem_.capacity(machine, second) - target * problem_.capacity(machine, first));
      }
      problem_.hinges.push_back(std::move(hinge));
    }
    return {};
  }

  /// Objects of one group become neighbours.
  void Sort() {
    const Problem unsorted = problem_;
    const auto processes = static_cast<int32_t>(unsorted.group_of.size());
    order_.resize(processes);
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::stable_sort(order_, {}, [&](int32_t process) { return unsorted.group_of[process]; });
    ObjectId next = 0;
    for (GroupId service = 0; service < static_cast<GroupId>(services_); ++service) {
      Group& group = problem_.groups[service];
      group.first = next;
      while (next < processes && unsorted.group_of[order_[next]] == service) {
        const int32_t process = order_[next];
        problem_.group_of[next] = service;
        problem_.object_move_cost[next] = unsorted.object_move_cost[process];
        for (int64_t resource = 0; resource < resources_; ++resource) {
          problem_.load(next, resource) = unsorted.load(process, resource);
        }
        ++next;
      }
      group.last = next;
    }
  }

  Numbers in_;
  int64_t resources_ = 0, machines_ = 0, services_ = 0;
  Problem problem_;
  std::vector<int32_t> order_;
};

}  // namespace

base::Result<std::vector<NodeId>> ReadRoadefAssignment(const RoadefInstance& instance, std::string_view text,
                                                       const std::string& file) {
  Numbers in(text, file);
  const auto processes = static_cast<int32_t>(instance.problem.load.rows());
  std::vector<NodeId> by_process(processes), assignment(processes);
  for (int32_t process = 0; process < processes; ++process) {
    EVENKEEL_ASSIGN(const int64_t machine,
                    in.Next(0, instance.problem.nodes() - 1, "machine of process " + std::to_string(process)));
    by_process[process] = static_cast<NodeId>(machine);
  }
  EVENKEEL_TRY(in.End());
  for (ObjectId object = 0; object < processes; ++object) assignment[object] = by_process[instance.process_of[object]];
  return assignment;
}

base::Result<RoadefInstance> ReadRoadef(std::string_view model, const std::string& model_file, std::string_view initial,
                                        const std::string& initial_file) {
  EVENKEEL_ASSIGN(RoadefInstance instance, ModelReader(model, model_file).Read());
  EVENKEEL_ASSIGN(instance.problem.initial, ReadRoadefAssignment(instance, initial, initial_file));
  if (const auto sound = instance.problem.Check(); !sound) return base::Fail(sound.error().Wrap(model_file));
  const Verdict verdict = Verify(instance.problem, instance.problem.initial);
  if (!verdict.valid()) {
    return base::Fail(Code::kBadRequest, initial_file + ": breaks a rule of " + model_file + ": " + verdict.violations.front());
  }
  return instance;
}

std::string WriteRoadefAssignment(const RoadefInstance& instance, std::span<const NodeId> assignment) {
  std::vector<NodeId> by_process(assignment.size());
  for (size_t object = 0; object < assignment.size(); ++object) by_process[instance.process_of[object]] = assignment[object];
  std::string text;
  for (const NodeId machine : by_process) text += (text.empty() ? "" : " ") + std::to_string(machine);
  return text + "\n";
}

}  // namespace evenkeel::solver
